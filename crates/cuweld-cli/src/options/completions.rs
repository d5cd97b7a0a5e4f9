//! Completions of shells.

use super::arguments::Generated;
use super::table::{self, OptionRow, Origin, Takes};
use crate::commands::{COMMANDS, Command};
use std::fmt::Write;

/// The completions for a shell; nothing for what is not a shell.
pub fn completions(shell: Generated) -> String {
    match shell {
        Generated::Bash => bash(),
        Generated::Zsh => zsh(),
        Generated::Fish => fish(),
        Generated::ManualPage => String::new(),
    }
}

fn offered() -> impl Iterator<Item = &'static OptionRow> {
    table::rows().filter(|row| row.origin != Origin::Undocumented)
}

/// An option's names with their dashes.
fn names(row: &OptionRow) -> Vec<String> {
    let short = row.short.map(|short| format!("-{short}"));
    [Some(format!("--{}", row.long)), short].into_iter().flatten().collect()
}

fn bash() -> String {
    let all: Vec<String> = offered().flat_map(names).collect();
    let mut cases = String::new();
    for row in offered().filter(|row| row.takes != Takes::Nothing) {
        let words = row.takes.words().join(" ");
        let offer = if words.is_empty() { "-f".to_owned() } else { format!("-W '{words}'") };
        let _ = writeln!(cases, "        {}) COMPREPLY=($(compgen {offer} -- \"$current\")); return ;;", names(row).join("|"));
    }
    format!(
        "_cuweld() {{\n\
         \x20   local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}\n\
         \x20   case $previous in\n{cases}    esac\n\
         \x20   if [[ ${{COMP_WORDS[1]}} == shim && $COMP_CWORD -gt 1 ]]; then\n\
         \x20       COMPREPLY=($(compgen -d -W '--help --whole --toolkit --messages' -- \"$current\"))\n\
         \x20   elif [[ ${{COMP_WORDS[1]}} =~ ^(fatbin|report|compare)$ && $COMP_CWORD -gt 1 ]]; then\n\
         \x20       COMPREPLY=($(compgen -f -W --help -- \"$current\"))\n\
         \x20   elif [[ $current == -* ]]; then\n\
         \x20       COMPREPLY=($(compgen -W '{}' -- \"$current\"))\n\
         \x20   else\n\
         \x20       COMPREPLY=($(compgen -f -- \"$current\"))\n\
         \x20       [[ $COMP_CWORD == 1 ]] && COMPREPLY+=($(compgen -W '{}' -- \"$current\"))\n\
         \x20   fi\n\
         }}\n\
         complete -o filenames -F _cuweld cuweld\n",
        all.join(" "),
        COMMANDS.map(|command| command.word).join(" ")
    )
}

fn zsh() -> String {
    let mut text = String::from("#compdef cuweld\n\n_arguments \\\n");
    for row in offered() {
        let summary = row.summary.replace('\'', "'\\''").replace('[', "\\[").replace(']', "\\]");
        let value = match row.takes.name() {
            None => String::new(),
            Some(_) if row.takes.words().is_empty() => ":value:_files".to_owned(),
            Some(_) => format!(":value:({})", row.takes.words().join(" ")),
        };
        for name in names(row) {
            let _ = writeln!(text, "    '*{name}[{summary}]{value}' \\");
        }
    }
    let words = COMMANDS.map(|command| command.word).join(" ");
    _ = write!(text, "    '1:object or command:{{ _files; compadd {words} }}' \\\n    '*:object:_files'\n");
    text
}

fn fish() -> String {
    let mut text = String::new();
    for Command { word, summary, .. } in &COMMANDS {
        _ = writeln!(text, "complete -c cuweld -n __fish_use_subcommand -a {word} -d '{summary}'");
    }
    for row in offered() {
        let short = match row.short {
            Some(short) if short.len() == 1 => format!(" -s {short}"),
            Some(short) => format!(" -o {short}"),
            None => String::new(),
        };
        let words = row.takes.words().join(" ");
        let value = match row.takes {
            Takes::Nothing => String::new(),
            _ if words.is_empty() => " -r -F".to_owned(),
            _ => format!(" -x -a '{words}'"),
        };
        let summary = row.summary.replace('\\', "\\\\").replace('\'', "\\'");
        let _ = writeln!(text, "complete -c cuweld{short} -l {}{value} -d '{summary}'", row.long);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_knows_every_option() {
        for (shell, text) in [("bash", bash()), ("zsh", zsh()), ("fish", fish())] {
            for row in offered() {
                assert!(text.contains(row.long), "{shell} lacks --{}", row.long);
            }
            for Command { word, .. } in COMMANDS {
                assert!(text.contains(word), "{shell} lacks {word}");
            }
        }
    }
}
