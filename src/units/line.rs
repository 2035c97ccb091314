//! Texts that came from elsewhere (servers, files, names), made fit for a line of a screen or a table.

/// Whether a character moves the cursor, colours the screen, ends a line or turns the direction of reading.
pub fn is_unprintable(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
}

/// The text on one line, a blank for every character that is no text.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if is_unprintable(c) { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stays_on_its_line_and_leaves_the_screen_alone() {
        for (text, expect) in [
            ("claim, full key", "claim, full key"),
            ("grün 日本 👨\u{200d}👩", "grün 日本 👨\u{200d}👩"),
            ("a\r\nb\tc", "a  b c"),
            ("\u{1b}[2Jx\u{7}", " [2Jx "),
            ("\u{9b}31m", " 31m"),
            ("a\u{202e}b\u{2028}c", "a b c"),
        ] {
            assert_eq!(one_line(text), expect);
        }
    }
}
