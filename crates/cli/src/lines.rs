//! Lines of standard input, of bounded length.

use std::io::{self, BufRead, BufReader, Read};

/// The longest line, and what is read ahead.
const LONGEST: usize = 1 << 20;

/// Standard input with room for the longest line.
pub fn input() -> BufReader<io::Stdin> {
    BufReader::with_capacity(LONGEST, io::stdin())
}

/// The next line, or what is wrong with it; none at the end.
pub fn next(input: &mut BufReader<impl Read>) -> io::Result<Option<Result<Vec<u8>, String>>> {
    let mut line = Vec::new();
    if input.take(LONGEST as u64).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let is_whole = line.ends_with(b"\n") || line.len() < LONGEST;
    Ok(Some(if is_whole { Ok(line) } else { skip(input)? }))
}

/// Reads on to the end of a line that is too long.
fn skip(input: &mut BufReader<impl Read>) -> io::Result<Result<Vec<u8>, String>> {
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let (n, is_last) = (end.map_or(buffer.len(), |at| at + 1), end.is_some() || buffer.is_empty());
        input.consume(n);
        if is_last {
            return Ok(Err(format!("expected a line of at most {} MiB", LONGEST >> 20)));
        }
    }
}
