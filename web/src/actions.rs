//! Changes that a page asks for. Each is a method of the daemon, which decides by the user of this process; where it
//! refuses, the answer names the command that does the same as root.

use brisk_api::{Client, ClientError};
use brisk_core::causes::in_one_line;
use brisk_core::text::shell_word;
use serde_json::Value;

use crate::http;
use crate::page::config;
use crate::texts::{self, Language};

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Engine { engine: String, to: String },
    Reset,
    Reload,
    App { app: String, to: String },
    Job { job: String, device: Option<String> },
    Stop,
}

impl Change {
    /// The change that a form asks for.
    pub(crate) fn of(form: &[(String, String)]) -> Option<Self> {
        let text = |name: &str| http::value(form, name).map(str::to_owned);
        match http::value(form, "do")? {
            "engine" => Some(Self::Engine { engine: text("engine")?, to: text("to")? }),
            "reset" => Some(Self::Reset),
            "reload" => Some(Self::Reload),
            "app" => Some(Self::App { app: text("app")?, to: text("to")? }),
            "job" => Some(Self::Job { job: text("job")?, device: text("device") }),
            "stop" => Some(Self::Stop),
            _ => None,
        }
    }

    /// The command that does the same.
    fn command(&self) -> String {
        match self {
            Self::Engine { engine, to } => format!("brisk trial {engine} {to}"),
            Self::Reset => "brisk reset".to_owned(),
            Self::Reload => "brisk config reload".to_owned(),
            Self::App { app, to } => {
                let app = shell_word(app);
                match to.as_str() {
                    "end_first" => format!("brisk apps end-first {app}"),
                    "protect" => format!("brisk apps protect {app}"),
                    _ => format!("brisk apps protect {app} --undo"),
                }
            }
            Self::Job { job, device: Some(device) } if job == "tune" => format!("brisk tune {}", shell_word(device)),
            Self::Job { job, .. } => format!("brisk {}", shell_word(job)),
            Self::Stop => "sudo brisk web".to_owned(),
        }
    }

    /// Asks for it; what became of it in words, and whether it was done.
    pub(crate) fn ask(&self, daemon: Result<Client, ClientError>, language: Language) -> (bool, String) {
        let outcome = daemon.and_then(|mut client| self.call(&mut client, language));
        match outcome {
            Ok(said) => (true, said),
            Err(error) => (false, refusal(&error, &self.command(), language)),
        }
    }

    fn call(&self, client: &mut Client, language: Language) -> Result<String, ClientError> {
        match self {
            Self::Engine { engine, to } => {
                let parameters = [("engine", Value::from(engine.as_str())), ("to", Value::from(to.as_str()))];
                client.answer("SetTrial", &parameters)?;
                let to = match to.as_str() {
                    "on" => texts::SWITCH_ON,
                    "off" => texts::SWITCH_OFF,
                    _ => texts::SWITCH_AUTO,
                };
                Ok(language.fill(texts::DONE_SWITCH, &[&language.engine(engine).0, &language.say(to)]))
            }
            Self::Reset => {
                let answer = client.answer("Reset", &[])?;
                let list = |name: &str| -> Vec<&str> {
                    let values = answer.get(name).and_then(Value::as_array);
                    values.into_iter().flatten().filter_map(Value::as_str).collect()
                };
                let (restored, left) = (list("restored").len(), list("left"));
                Ok(match left.is_empty() {
                    true => language.fill(texts::DONE_BACK, &[&restored]),
                    false => language.fill(texts::DONE_LEFT, &[&restored, &left.join("; ")]),
                })
            }
            Self::App { app, to } => {
                let parameters = [("app", Value::from(app.as_str())), ("to", Value::from(to.as_str()))];
                let answer = client.answer("SetApp", &parameters)?;
                let text = match (to.as_str(), answer.get("changed") == Some(&Value::Bool(true))) {
                    ("protect", _) => texts::DONE_PROTECT,
                    ("end_first", _) => texts::DONE_END_FIRST,
                    (_, true) => texts::DONE_NO_WISH,
                    (_, false) => texts::WISH_ELSEWHERE,
                };
                Ok(language.fill(text, &[app]))
            }
            Self::Job { job, device } => {
                let device = device.as_deref().map_or(Value::Null, Value::from);
                client.answer("StartJob", &[("job", Value::from(job.as_str())), ("device", device)])?;
                Ok(language.say(texts::DONE_JOB).to_owned())
            }
            Self::Stop => {
                client.answer("StopJob", &[])?;
                Ok(language.say(texts::DONE_STOP).to_owned())
            }
            Self::Reload => {
                client.answer("Reload", &[])?;
                Ok(language.say(texts::DONE).to_owned())
            }
        }
    }
}

/// The text of the configuration.
pub(crate) fn config(daemon: Result<Client, ClientError>, language: Language) -> Result<config::Text, String> {
    let ask = |mut client: Client| {
        let answer = client.answer("GetConfig", &[])?;
        let text = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(config::Text { path: text("path"), text: text("text"), version: text("version") })
    };
    daemon.and_then(ask).map_err(|error| refusal(&error, "brisk config show", language))
}

/// Has the text of the configuration checked, or with `saves` written; what is not there at present.
pub(crate) fn set_config(
    daemon: Result<Client, ClientError>,
    (text, version): (&str, &str),
    saves: bool,
    language: Language,
) -> Result<Vec<String>, String> {
    let parameters = [("text", text.into()), ("version", version.into()), ("check", Value::Bool(!saves))];
    let outcome = daemon.and_then(|mut client| client.call("SetConfig", &parameters, "warnings"));
    outcome.map_err(|error| refusal(&error, "sudo brisk web", language))
}

fn refusal(error: &ClientError, command: &str, language: Language) -> String {
    match error {
        ClientError::Refused { name, what } if name == "NotAllowed" => language.fill(texts::REFUSED, &[what, &command]),
        ClientError::Refused { what, .. } => what.clone(),
        error => language.fill(texts::FAILED, &[&in_one_line(error)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_one_of_the_changes_or_none() {
        let of = |form: &str| Change::of(&http::form(form.as_bytes()));
        let engine = Change::Engine { engine: "mars".to_owned(), to: "off".to_owned() };
        assert_eq!(engine.command(), "brisk trial mars off");
        assert_eq!(of("do=engine&engine=mars&to=off"), Some(engine));
        assert_eq!((of("do=reset"), of("do=reload&x=1")), (Some(Change::Reset), Some(Change::Reload)));
        let app = |to: &str| Change::App { app: "it's".to_owned(), to: to.to_owned() };
        assert_eq!(of("do=app&app=it%27s&to=protect"), Some(app("protect")));
        assert_eq!(app("end_first").command(), "brisk apps end-first 'it'\\''s'");
        let job = of("do=job&job=tune&device=sda").expect("a measurement");
        assert_eq!(job.command(), "brisk tune sda");
        assert_eq!(of("do=stop"), Some(Change::Stop));
        for form in ["", "do=", "do=engine&engine=mars", "do=Forget", "engine=mars&to=off"] {
            assert_eq!(of(form), None, "{form}");
        }
    }
}
