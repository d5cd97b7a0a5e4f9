//! Prototype strings, for people to read.
//!
//! `#vli` is a function without a result whose parameters have 64 and 32 bits; `b12` is a structure of 12 bytes. What follows a
//! bar concerns registers.

const CODES: [(char, &str); 6] =
    [('v', "nothing"), ('i', "32 bits"), ('l', "64 bits"), ('f', "a float"), ('d', "a double"), ('s', "16 bits")];

/// A prototype for messages; the text itself, if its form is not known.
pub(super) fn readable(prototype: &str) -> String {
    words(prototype).unwrap_or_else(|| format!("'{prototype}'"))
}

fn words(prototype: &str) -> Option<String> {
    let mut rest = prototype.strip_prefix('#')?.split('|').next()?;
    let mut words = Vec::new();
    while let Some(code) = rest.chars().next() {
        rest = rest.get(code.len_utf8()..)?;
        words.push(if code == 'b' {
            let end = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, behind) = rest.split_at(end);
            rest = behind;
            super::bytes(digits.parse().ok()?)
        } else {
            CODES.iter().find(|(known, _)| *known == code)?.1.to_owned()
        });
    }
    let (result, parameters) = words.split_first()?;
    let parameters = if parameters.is_empty() { "nothing".to_owned() } else { parameters.join(", ") };
    Some(format!("takes {parameters}; returns {result}"))
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn prototypes() {
        for (prototype, expected) in [
            ("#v", "takes nothing; returns nothing"),
            ("#vli", "takes 64 bits, 32 bits; returns nothing"),
            ("#b8b3", "takes 3 bytes; returns 8 bytes"),
            ("#fd", "takes a double; returns a float"),
            ("#ill|12p4r", "takes 64 bits, 64 bits; returns 32 bits"),
            ("#", "'#'"),
            ("#b", "'#b'"),
            ("é", "'é'"),
            ("#é", "'#é'"),
        ] {
            assert_eq!(readable(prototype), expected, "{prototype}");
        }
    }
}
