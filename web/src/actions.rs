//! Changes that a page asks for. Each is a method of the daemon, which decides by the user of this process; where it
//! refuses, the answer names the command that does the same as root.

use brisk_api::{Client, ClientError};
use brisk_core::causes::in_one_line;
use serde_json::Value;

use crate::http;
use crate::texts::{self, Language};

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Engine { engine: String, to: String },
    Reset,
    Reload,
}

impl Change {
    /// The change that a form asks for.
    pub(crate) fn of(form: &[(String, String)]) -> Option<Self> {
        let text = |name: &str| http::value(form, name).map(str::to_owned);
        match http::value(form, "do")? {
            "engine" => Some(Self::Engine { engine: text("engine")?, to: text("to")? }),
            "reset" => Some(Self::Reset),
            "reload" => Some(Self::Reload),
            _ => None,
        }
    }

    /// The command that does the same.
    fn command(&self) -> String {
        match self {
            Self::Engine { engine, to } => format!("brisk trial {engine} {to}"),
            Self::Reset => "brisk reset".to_owned(),
            Self::Reload => "brisk config reload".to_owned(),
        }
    }

    /// Asks for it; what became of it in words, and whether it was done.
    pub(crate) fn ask(&self, daemon: Result<Client, ClientError>, language: Language) -> (bool, String) {
        let outcome = daemon.and_then(|mut client| self.call(&mut client, language));
        match outcome {
            Ok(said) => (true, said),
            Err(ClientError::Refused { name, what }) if name == "NotAllowed" => {
                (false, language.fill(texts::REFUSED, &[&what, &self.command()]))
            }
            Err(error) => (false, language.fill(texts::FAILED, &[&in_one_line(&error)])),
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
            Self::Reload => {
                client.answer("Reload", &[])?;
                Ok(language.say(texts::DONE).to_owned())
            }
        }
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
        for form in ["", "do=", "do=engine&engine=mars", "do=Forget", "engine=mars&to=off"] {
            assert_eq!(of(form), None, "{form}");
        }
    }
}
