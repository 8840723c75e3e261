// Keeps the page as it is on the server: patches elements by id, and sends changes. Without it the page is loaded anew.
'use strict';

const byId = (id) => document.getElementById(id);
document.documentElement.classList.add('scripted');

// What a person opens, filters or waits for is no matter of the server.
const OWN = new Set(['open', 'hidden', 'disabled', 'data-busy']);

/** Makes an element like another with as few changes as can be, so that focus and selection stay. */
function morph(have, want) {
  if (have.nodeType !== want.nodeType || have.nodeName !== want.nodeName || have.id !== want.id) {
    have.replaceWith(want);
    return;
  }
  if (have.nodeType !== Node.ELEMENT_NODE) {
    if (have.data !== want.data) have.data = want.data;
    return;
  }
  for (const { name } of [...have.attributes]) {
    if (!OWN.has(name) && !want.hasAttribute(name)) have.removeAttribute(name);
  }
  for (const { name, value } of want.attributes) {
    if (!OWN.has(name) && have.getAttribute(name) !== value) have.setAttribute(name, value);
  }
  const [before, after] = [[...have.childNodes], [...want.childNodes]];
  after.forEach((child, at) => (at < before.length ? morph(before[at], child) : have.append(child)));
  before.slice(after.length).forEach((child) => child.remove());
}

/** Blocks by id, and lists with the ids of their blocks in order. */
function patch({ blocks, lists }) {
  const made = new Map();
  for (const [id, html] of Object.entries(blocks)) {
    const template = document.createElement('template');
    template.innerHTML = html;
    const want = template.content.firstElementChild;
    const have = byId(id);
    if (have) morph(have, want);
    else made.set(id, want);
  }
  for (const [list, ids] of Object.entries(lists)) {
    const parent = byId(list);
    if (!parent) continue;
    let place = parent.firstElementChild;
    const kept = new Set(ids);
    for (const id of ids) {
      while (place && !kept.has(place.id)) {
        const gone = place;
        place = place.nextElementSibling;
        gone.remove();
      }
      const child = byId(id) ?? made.get(id);
      if (!child) continue;
      if (child === place) place = place.nextElementSibling;
      else parent.insertBefore(child, place);
    }
    while (place) {
      const gone = place;
      place = place.nextElementSibling;
      gone.remove();
    }
  }
  document.querySelectorAll('[data-filters]').forEach(filter);
}

function filter(input) {
  const wanted = input.value.trim().toLowerCase();
  const rows = byId(input.dataset.filters);
  rows.classList.toggle('first', !wanted && !rows.dataset.all);
  for (const row of rows.children) row.hidden = !row.dataset.name.includes(wanted);
}

let source;
function listen() {
  source?.close();
  if (document.hidden) return;
  source = new EventSource('/live');
  source.onmessage = ({ data }) => {
    byId('offline').hidden = true;
    patch(JSON.parse(data));
  };
  source.onerror = () => {
    byId('offline').hidden = false;
    // The browser tries again by itself, unless the server has refused.
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 5000);
  };
}

/** Asks a person; whether the answer is yes. */
function agreed(question, yes) {
  const dialog = byId('ask');
  byId('ask-text').textContent = question;
  byId('ask-yes').textContent = yes;
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
  });
}

function say(text, isDone) {
  const said = byId('said');
  said.textContent = text;
  said.classList.toggle('bad', !isDone);
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { said.textContent = ''; }, isDone ? 8000 : 60000);
}

async function change(form, button) {
  if (form.dataset.busy) return;
  if (form.dataset.ask && !(await agreed(form.dataset.ask, button.textContent))) return;
  const body = new URLSearchParams(new FormData(form));
  if (button?.name) body.set(button.name, button.value);
  form.dataset.busy = 'yes';
  try {
    const answer = await fetch('/act', { method: 'POST', headers: { Accept: 'application/json' }, body });
    const isJson = answer.headers.get('Content-Type')?.startsWith('application/json');
    const { said, done } = isJson ? await answer.json() : { said: await answer.text(), done: false };
    say(said, done);
  } catch {
    byId('offline').hidden = false;
  } finally {
    delete form.dataset.busy;
  }
}

/** Of a record: shows the decision of this number; what was asked for before is no matter any more. */
async function go(slider) {
  go.last?.abort();
  go.last = new AbortController();
  const number = slider.value;
  try {
    const answer = await fetch(`/moment?n=${number}`, { signal: go.last.signal });
    if (!answer.ok) throw new Error(answer.status);
    patch(await answer.json());
    slider.setAttribute('aria-valuetext', byId('moment').querySelector('.lead').textContent);
    history.replaceState(null, '', `/?n=${number}`);
    byId('offline').hidden = true;
  } catch (error) {
    if (error.name !== 'AbortError') byId('offline').hidden = false;
  }
}

document.addEventListener('submit', (event) => {
  if (!event.target.matches('form.act')) return;
  event.preventDefault();
  change(event.target, event.submitter);
});
document.addEventListener('click', async ({ target }) => {
  if (target.id === 'said') target.textContent = '';
  if (target.matches('[data-shows]')) {
    byId(target.dataset.shows).dataset.all = 'yes';
    byId(target.dataset.shows).classList.remove('first');
    document.querySelectorAll('[data-filters]').forEach(filter);
  }
  if (target.matches('[data-step]')) {
    const slider = document.querySelector('[data-moments]');
    slider.valueAsNumber += Number(target.dataset.step);
    go(slider);
  }
  if (!target.matches('[data-copy]')) return;
  await navigator.clipboard.writeText(target.dataset.copy);
  const text = target.textContent;
  target.textContent = target.dataset.copied;
  setTimeout(() => { target.textContent = text; }, 2000);
});
document.addEventListener('input', ({ target }) => {
  if (target.matches('[data-filters]')) filter(target);
  if (target.matches('[data-moments]')) go(target);
});

if (byId('enter')) {
  location.replace('/');
} else {
  // Of a record nothing changes by itself.
  if (!document.querySelector('[data-record]')) {
    document.addEventListener('visibilitychange', listen);
    listen();
  }
  // A page that is not seen says that it is there, so that the program stays.
  setInterval(() => document.hidden && fetch('/here').catch(() => {}), 240000);
}
