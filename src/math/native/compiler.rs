//! The machine's C compiler, and what it has made, kept for the next time.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use libloading::Library;

use super::Code;

/// How code is compiled. Products and sums that are to be one operation are written so. There are no dead stores, and to look for
/// them takes a quarter of GCC's time.
const FLAGS: [&str; 9] = [
    "-std=gnu11",
    "-O2",
    "-march=native",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-tree-dse",
    "-fno-dse",
    "-fPIC",
    "-w",
];
/// Bytes of a file of code, at least: the head takes its time in each.
const PART: usize = 1 << 19;
/// Bytes behind a shared object that say whether it is whole.
const SEAL: usize = 16;

/// A compiler, and its first line about itself.
struct Compiler {
    path: OsString,
    version: String,
}

/// FNV-1a of 128 bits (Fowler, Noll and Vo).
fn hash(parts: &[&[u8]]) -> u128 {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    for part in parts {
        // The length keeps what stands in one part from standing in the next.
        for &byte in part.len().to_le_bytes().iter().chain(*part) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
    hash
}

/// $CC, else the first there is of cc, gcc and clang.
fn compiler() -> Result<&'static Compiler, String> {
    static FOUND: OnceLock<Result<Compiler, String>> = OnceLock::new();
    let find = || {
        let wanted = std::env::var_os("CC").filter(|name| !name.is_empty());
        let names = wanted.map_or_else(|| ["cc", "gcc", "clang"].map(OsString::from).to_vec(), |name| vec![name]);
        for name in &names {
            let Ok(output) = Command::new(name).arg("--version").output() else { continue };
            if output.status.success() {
                let version = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned();
                return Ok(Compiler { path: name.clone(), version });
            }
        }
        let names: Vec<String> = names.iter().map(|name| format!("\"{}\"", name.display())).collect();
        Err(format!(
            "native code: expected a C compiler, found none: {} cannot be run; install one, or say in $CC which to take",
            names.join(", ")
        ))
    };
    FOUND.get_or_init(find).as_ref().map_err(Clone::clone)
}

/// What the processor says it can do: code for another one may not run here.
fn processor() -> &'static str {
    static FOUND: OnceLock<String> = OnceLock::new();
    FOUND.get_or_init(|| {
        let all = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let wanted = |line: &&str| ["flags", "Features", "model name"].iter().any(|key| line.starts_with(key));
        let first = all.split("\n\n").next().unwrap_or_default();
        first.lines().filter(wanted).collect::<Vec<_>>().join("\n")
    })
}

/// The folder for compiled code, nobody else's to write to: `FINGERTIP_CACHE`, else `fingertip/native` where caches are kept.
fn folder() -> Result<PathBuf, String> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let kept = || of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
    let folder = of("FINGERTIP_CACHE").or_else(|| Some(kept()?.join("fingertip").join("native")));
    let folder = folder
        .ok_or("native code: expected a place to keep it, got none: set FINGERTIP_CACHE, XDG_CACHE_HOME or HOME")?;
    let failed = |error: std::io::Error| format!("native code: {}: {error}", folder.display());
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
    let mode = fs::metadata(&folder).map_err(failed)?.mode() & 0o777;
    if mode & 0o022 != 0 {
        return Err(format!(
            "native code: {}: expected a folder that nobody else can write to, got mode {mode:o}: what is there would be run",
            folder.display()
        ));
    }
    Ok(folder)
}

/// A shared object made of code: the one that is kept, if it is there and whole, else a new one.
///
/// # Errors
/// If there is no compiler, or one that refuses the code; if the folder for compiled code cannot be written to.
pub(super) fn library(code: &Code) -> Result<Library, String> {
    let Compiler { path, version } = compiler()?;
    let folder = folder()?;
    let (flags, name) = (FLAGS.join(" "), path.to_string_lossy());
    let mut parts =
        vec![name.as_bytes(), version.as_bytes(), flags.as_bytes(), processor().as_bytes(), code.head.as_bytes()];
    parts.extend(code.stages.iter().map(String::as_bytes));
    parts.push(code.last.as_bytes());
    let kept = folder.join(format!("{:032x}.so", hash(&parts)));
    if is_whole(&kept)
        && let Ok(library) = load(&kept)
    {
        return Ok(library);
    }
    compile(path, code, &kept)?;
    load(&kept)
}

fn load(path: &Path) -> Result<Library, String> {
    // SAFETY: the file was made by `compile` of text that this library has printed, in a folder that nobody else can write to;
    // it has no initialisers.
    unsafe { Library::new(path) }.map_err(|error| format!("native code: {}: {error}", path.display()))
}

/// Is the file what was written?
fn is_whole(path: &Path) -> bool {
    let Ok(bytes) = fs::read(path) else { return false };
    let Some((code, seal)) = bytes.split_last_chunk::<SEAL>() else { return false };
    hash(&[code]).to_le_bytes() == *seal
}

impl Code {
    /// The code in files, at most `most` of them, each of a good length.
    fn files(&self, most: usize) -> Vec<String> {
        let total = self.stages.iter().map(String::len).sum::<usize>();
        let length = total.div_ceil(most).max(PART);
        let mut files = vec![self.head.clone()];
        for stage in &self.stages {
            if files[files.len() - 1].len() > self.head.len() + length {
                files.push(self.head.clone());
            }
            let last = files.len() - 1;
            files[last].push_str(stage);
        }
        let last = files.len() - 1;
        files[last].push_str(&self.last);
        files
    }
}

/// Compiles code, on all cores. The file gets its name when it is whole, so that nobody finds a part of it.
fn compile(compiler: &OsString, code: &Code, to: &Path) -> Result<(), String> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let own = format!("{}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let texts = code.files(std::thread::available_parallelism().map_or(1, usize::from));
    let file = |kind: &str, k: usize| to.with_extension(format!("{own}.{k}.{kind}"));
    let objects: Vec<PathBuf> = (0..texts.len()).map(|k| file("o", k)).collect();
    let sources: Vec<PathBuf> = (0..texts.len()).map(|k| file("c", k)).collect();
    let made = file("tmp", 0);
    let failed = |error: std::io::Error| format!("native code: {}: {error}", to.display());
    let run = |arguments: &[&OsStr]| {
        let output = Command::new(compiler).args(FLAGS).args(arguments).output();
        let output = output.map_err(|error| format!("native code: {}: {error}", compiler.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().take(8).collect();
        Err(format!("native code: {} has not compiled it: {}", compiler.display(), said.join("\n")))
    };
    let part = |k: usize| {
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&sources[k]);
        file.and_then(|mut file| file.write_all(texts[k].as_bytes())).map_err(failed)?;
        run(&["-c".as_ref(), "-o".as_ref(), objects[k].as_os_str(), sources[k].as_os_str()])
    };
    let all = || {
        std::thread::scope(|scope| {
            let part = &part;
            let threads: Vec<_> = (0..texts.len()).map(|k| scope.spawn(move || part(k))).collect();
            threads.into_iter().try_for_each(|thread| {
                thread.join().unwrap_or_else(|_| Err(String::from("native code: a thread has failed")))
            })
        })?;
        let mut arguments: Vec<&OsStr> = vec!["-shared".as_ref(), "-o".as_ref(), made.as_os_str()];
        arguments.extend(objects.iter().map(|path| path.as_os_str()));
        arguments.push("-lm".as_ref());
        run(&arguments)?;
        let mut code = fs::read(&made).map_err(failed)?;
        code.extend(hash(&[&code]).to_le_bytes());
        fs::write(&made, code).and_then(|()| fs::rename(&made, to)).map_err(failed)
    };
    let result = all();
    for file in sources.iter().chain(&objects).chain([&made]) {
        // Some have another name by now, or were never there.
        let _ = fs::remove_file(file);
    }
    result
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_whole_or_made_anew() {
        if let Err(reason) = compiler() {
            println!("skipped: {reason}");
            return;
        }
        let code = |last: String| Code { head: String::new(), stages: Vec::new(), last };
        let text = code(format!("int answer(void) {{ return {}; }}\n", std::process::id()));
        let answer = |library: &Library| {
            // SAFETY: the text above has such a function.
            unsafe { (*library.get::<unsafe extern "C" fn() -> i32>(b"answer").unwrap())() }
        };
        let folder = folder().unwrap();
        let kept = || {
            let all = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            let mut all: Vec<PathBuf> = all.filter(|path| path.extension().is_some_and(|kind| kind == "so")).collect();
            all.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
            all.pop().unwrap()
        };
        let expected = i32::try_from(std::process::id()).unwrap();
        assert_eq!(answer(&library(&text).unwrap()), expected);
        let path = kept();
        let whole = fs::read(&path).unwrap();
        assert!(is_whole(&path));
        for damaged in [&whole[..whole.len() / 2], &[], &[&whole[..99], &[whole[99] ^ 1], &whole[100..]].concat()] {
            fs::write(&path, damaged).unwrap();
            assert!(!is_whole(&path));
            assert_eq!(answer(&library(&text).unwrap()), expected);
            assert_eq!(fs::read(&path).unwrap().len(), whole.len());
        }
        let error = library(&code(String::from("this is not C\n"))).unwrap_err();
        assert!(error.contains("has not compiled it"), "{error}");
        fs::remove_file(&path).unwrap();
    }
}
