//! The toolkit's compilers, as the linker calls them.

use crate::cache::{Cache, Key};
use crate::jobs::Jobs;
use crate::{Assembler, Optimizer, Search, Worker, lines};
use cuweld::inputs::lower::{Assembled, Assembly, CompilerError, Compilers, Optimization, Optimized};
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Compilers that are looked for when they are needed.
pub struct ToolkitCompilers {
    search: Search,
    setup: LazyLock<Setup, Box<dyn FnOnce() -> Setup + Send>>,
    assembler: OnceLock<Result<Assembler, CompilerError>>,
    optimizer: OnceLock<Result<Optimizer, CompilerError>>,
    done: Mutex<Vec<Compilation>>,
}

/// Something that is told of compilers while they run.
pub type Observer = Box<dyn Fn(Event<'_>) + Send + Sync>;

/// How compilers are run.
pub struct Setup {
    /// The program that foreign code runs under, if there is one; else it runs as a child of, or in, this process.
    pub worker: Option<Worker>,
    /// Where results are kept, if they are.
    pub cache: Option<Cache>,
    /// A program that is put before every command of the assembler, such as sccache.
    pub launcher: Option<PathBuf>,
    /// How many compilers run at once.
    pub jobs: Jobs,
    /// Is told when a compiler starts and when it is done.
    pub observer: Option<Observer>,
}

impl Default for Setup {
    fn default() -> Self {
        let jobs = Jobs::new(std::thread::available_parallelism().map_or(1, Into::into));
        Setup { worker: None, cache: None, launcher: None, jobs, observer: None }
    }
}

/// A stage of compilation.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Stage {
    /// From intermediate code to PTX.
    Optimize,
    /// From PTX to machine code.
    Assemble,
}

/// Something that an observer is told.
#[derive(Copy, Clone, Debug)]
pub enum Event<'name> {
    /// A compiler starts.
    Started(Stage, &'name str),
    /// It is done, with or without a result.
    Ended(Stage, &'name str),
}

/// A compilation that came to a result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Compilation {
    /// The stage.
    pub stage: Stage,
    /// What was compiled.
    pub name: String,
    /// For which architecture.
    pub architecture: String,
    /// When.
    pub begin: Instant,
    /// How long it took.
    pub duration: Duration,
    /// Whether the result was in the cache.
    pub cached: bool,
}

impl ToolkitCompilers {
    /// Those of the toolkit that the search finds. Most links compile nothing, so the setup, which asks the system this and that, is made
    /// when the first compiler is needed.
    #[must_use]
    pub fn new(search: Search, setup: impl FnOnce() -> Setup + Send + 'static) -> Self {
        let setup = LazyLock::new(Box::new(setup) as Box<_>);
        ToolkitCompilers { search, setup, assembler: OnceLock::new(), optimizer: OnceLock::new(), done: Mutex::default() }
    }

    /// Lends them to a link.
    pub fn lend<T>(&self, link: impl FnOnce(&Compilers<'_>) -> T) -> T {
        let result = link(&Compilers {
            assemble: &|assembly| self.assemble(assembly),
            optimize: &|optimization| self.optimize(optimization),
            jobs: &|| self.setup.jobs.limit(),
        });
        if self.done().iter().any(|compilation| !compilation.cached) {
            self.setup.cache.iter().for_each(Cache::trim);
        }
        result
    }

    /// What was compiled so far, in the order in which it was done.
    pub fn done(&self) -> Vec<Compilation> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Assembles PTX.
    fn assemble(&self, assembly: &Assembly<'_>) -> Result<Assembled, CompilerError> {
        let found = self.assembler.get_or_init(|| self.search.assembler());
        let assembler = found.as_ref().map_err(Clone::clone)?;
        self.compile(
            (Stage::Assemble, assembly.name, &assembly.arguments),
            || {
                let mut key = Key::new("assemble");
                key.add(&self.setup.cache.as_ref()?.identity(assembler.path()).ok()?);
                assembly.arguments.iter().for_each(|argument| key.add(argument.as_bytes()));
                key.add(assembly.text);
                Some(key)
            },
            |parts| {
                let [image, messages] = parts.try_into().ok()?;
                Some(Assembled { image, messages: lines(&messages), duration: Duration::ZERO, cached: true })
            },
            || {
                let code = assembler.assemble(assembly, self.setup.launcher.as_deref(), self.setup.worker.as_ref())?;
                Ok(Assembled { image: code.image, messages: code.messages, duration: Duration::ZERO, cached: false })
            },
            |assembled| vec![assembled.image.clone(), assembled.messages.join("\n").into_bytes()],
        )
        .map(|(assembled, duration)| Assembled { duration, ..assembled })
    }

    /// Makes PTX of intermediate code.
    fn optimize(&self, optimization: &Optimization<'_>) -> Result<Optimized, CompilerError> {
        let found = self.optimizer.get_or_init(|| self.search.optimizer());
        let optimizer = found.as_ref().map_err(Clone::clone)?;
        let optimized = self.compile(
            (Stage::Optimize, optimization.name, &optimization.arguments),
            || {
                let mut key = Key::new("optimize");
                key.add(&self.setup.cache.as_ref()?.identity(optimizer.path()).ok()?);
                key.add(&optimization.arguments.len().to_le_bytes());
                optimization.arguments.iter().for_each(|argument| key.add(argument.as_bytes()));
                for module in &optimization.modules {
                    key.add(&[u8::from(module.bare)]);
                    key.add(module.data);
                }
                Some(key)
            },
            |parts| {
                let mut parts = parts.into_iter();
                Some(Optimized { text: parts.next()?, linked: parts.next() })
            },
            || optimizer.optimize(optimization, self.setup.worker.as_ref()),
            |optimized| [Some(&optimized.text), optimized.linked.as_ref()].into_iter().flatten().cloned().collect(),
        );
        optimized.map(|(optimized, _)| optimized)
    }

    /// Takes a result from the cache, or compiles and stores it there.
    fn compile<T>(
        &self,
        (stage, name, arguments): (Stage, &str, &[String]),
        key: impl FnOnce() -> Option<Key>,
        found: impl FnOnce(Vec<Vec<u8>>) -> Option<T>,
        run: impl FnOnce() -> Result<T, CompilerError>,
        stored: impl FnOnce(&T) -> Vec<Vec<u8>>,
    ) -> Result<(T, Duration), CompilerError> {
        let begin = Instant::now();
        let missing = match self.setup.cache.as_ref().zip(key()).map(|(cache, key)| cache.get(key)) {
            Some(Ok(parts)) => {
                if let Some(result) = found(parts) {
                    return Ok((result, self.note((stage, name, arguments), begin, true)));
                }
                None
            }
            Some(Err(missing)) => Some(missing),
            None => None,
        };
        let slot = self.setup.jobs.acquire();
        let begin = Instant::now();
        self.tell(Event::Started(stage, name));
        let result = run();
        self.tell(Event::Ended(stage, name));
        drop(slot);
        let result = result?;
        let duration = self.note((stage, name, arguments), begin, false);
        if let Some(missing) = missing {
            let parts = stored(&result);
            missing.store(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>());
        }
        Ok((result, duration))
    }

    fn note(&self, (stage, name, arguments): (Stage, &str, &[String]), begin: Instant, cached: bool) -> Duration {
        let duration = begin.elapsed();
        let architecture = arguments.iter().find_map(|argument| argument.strip_prefix("-arch=")).unwrap_or_default();
        let (name, architecture) = (name.to_owned(), architecture.to_owned());
        let compilation = Compilation { stage, name, architecture, begin, duration, cached };
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push(compilation);
        duration
    }

    fn tell(&self, event: Event<'_>) {
        if let Some(observer) = &self.setup.observer {
            observer(event);
        }
    }
}

impl std::fmt::Debug for ToolkitCompilers {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ToolkitCompilers").field("search", &self.search).finish_non_exhaustive()
    }
}
