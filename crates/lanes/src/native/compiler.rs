//! Calls the machine's C compiler, and caches the shared libraries that it makes.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use libloading::Library;

use crate::cache::{folder, hash, keep, kept, own};

/// The flags of the compiler. Multiply-adds are explicit in the code, so contraction is off. The search for dead stores
/// is off too: there are none, and it takes a quarter of GCC's time.
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
/// The least length of a source file in bytes: compiling the head takes time in each file.
const PART: usize = 1 << 19;
/// The name of the cache folder for native code.
const KIND: &str = "native";

/// The C compiler of this machine.
struct Compiler {
    /// The name or path of its executable.
    path: OsString,
    /// The first line that it prints for `--version`.
    version: String,
}

/// The C compiler: `$CC` if set, else the first of cc, gcc and clang that runs. It is looked up once.
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

/// The model and features of the processor, as part of the cache key: code compiled for another processor may not run
/// here.
fn processor() -> &'static str {
    static FOUND: OnceLock<String> = OnceLock::new();
    FOUND.get_or_init(|| {
        let all = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let wanted = |line: &&str| ["flags", "Features", "model name"].iter().any(|key| line.starts_with(key));
        let first = all.split("\n\n").next().unwrap_or_default();
        first.lines().filter(wanted).collect::<Vec<_>>().join("\n")
    })
}

/// Checks that native code can be compiled here.
///
/// # Errors
/// If there is no C compiler, or no folder for compiled code.
pub fn check() -> Result<(), String> {
    compiler()?;
    folder(KIND).map(drop)
}

/// Loads the shared library for this code from the cache, or compiles it if it is missing or damaged.
///
/// # Errors
/// If there is no compiler, if it refuses the code, or if the cache folder cannot be written to.
pub(super) fn library(code: &Code) -> Result<Library, String> {
    let Compiler { path, version } = compiler()?;
    let folder = folder(KIND)?;
    let (flags, name) = (FLAGS.join(" "), path.to_string_lossy());
    let mut parts =
        vec![name.as_bytes(), version.as_bytes(), flags.as_bytes(), processor().as_bytes(), code.head.as_bytes()];
    parts.extend(code.stages.iter().map(String::as_bytes));
    parts.push(code.last.as_bytes());
    let place = folder.join(format!("{:032x}.so", hash(&parts)));
    if kept(&place).is_some()
        && let Ok(library) = load(&place)
    {
        return Ok(library);
    }
    compile(path, code, &place)?;
    load(&place)
}

/// Loads a shared library that [`compile`] has made.
fn load(path: &Path) -> Result<Library, String> {
    // SAFETY: the file was made by `compile` of text that this library has printed, in a folder that nobody else can
    // write to; it has no initialisers.
    unsafe { Library::new(path) }.map_err(|error| format!("native code: {}: {error}", path.display()))
}

/// C code in parts that can be compiled in parallel.
pub(super) struct Code {
    /// The text that every file starts with.
    pub(super) head: String,
    /// Functions that `last` calls, in any file.
    pub(super) stages: Vec<String>,
    /// The main function, which goes to the last file.
    pub(super) last: String,
}

impl Code {
    /// The text of the files to compile: at most `most` of them, each of a reasonable length.
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

/// Compiles code on all cores and links it to a shared library. The file appears under its name only when it is
/// complete.
fn compile(compiler: &OsString, code: &Code, to: &Path) -> Result<(), String> {
    let texts = code.files(std::thread::available_parallelism().map_or(1, usize::from));
    let files = |kind: &str| (0..texts.len()).map(|_| own(to, kind)).collect::<Vec<PathBuf>>();
    let (objects, sources, made) = (files("o"), files("c"), own(to, "tmp"));
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
        fs::read(&made).and_then(|code| keep(to, code)).map_err(failed)
    };
    let result = all();
    for file in sources.iter().chain(&objects).chain([&made]) {
        // Some of these files may not exist.
        let _ = fs::remove_file(file);
    }
    result
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The code of a library that does nothing.
    pub(in super::super) fn nothing() -> Code {
        Code { head: String::new(), stages: Vec::new(), last: String::from("int nothing;\n") }
    }

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
        let folder = folder(KIND).unwrap();
        let newest = || {
            let all = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            let mut all: Vec<PathBuf> = all.filter(|path| path.extension().is_some_and(|kind| kind == "so")).collect();
            all.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
            all.pop().unwrap()
        };
        let expected = i32::try_from(std::process::id()).unwrap();
        assert_eq!(answer(&library(&text).unwrap()), expected);
        let path = newest();
        let whole = fs::read(&path).unwrap();
        assert!(kept(&path).is_some());
        for damaged in [&whole[..whole.len() / 2], &[], &[&whole[..99], &[whole[99] ^ 1], &whole[100..]].concat()] {
            fs::write(&path, damaged).unwrap();
            assert!(kept(&path).is_none());
            assert_eq!(answer(&library(&text).unwrap()), expected);
            assert_eq!(fs::read(&path).unwrap().len(), whole.len());
        }
        let error = library(&code(String::from("this is not C\n"))).unwrap_err();
        assert!(error.contains("has not compiled it"), "{error}");
        fs::remove_file(&path).unwrap();
    }
}
