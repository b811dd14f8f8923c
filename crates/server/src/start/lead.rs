//! What a process does: it writes, or it stands by until it can. What listens stays throughout.

use super::follow::{Begun, Following};
use super::listeners::{Listeners, Open};
use super::raise::{Addresses, Raised, raise};
use super::reload::Exchange;
use super::rows::Warm;
use super::stop::{Ended, Parts, RunError, last_requests, supervise};
use super::{Ground, Running, StartError, check_endpoints, checkpoint, sources_of};
use crate::app::stopped;
use crate::config::ServerConfig;
use crate::present_routes::PresentRoutes;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use x811_ledger::clock::Clock;
use x811_ledger::entropy::Entropy;
use x811_store::{Backend, Database, FileCheckpointStore, OpenError, Wait};

/// A lease that is free is had within this; what is followed meanwhile would be for nothing.
const FREE_LEASE: Duration = Duration::from_millis(500);

/// How long a database that is down is left alone.
const RETRY: Duration = Duration::from_millis(500);

/// Who asks for the lease, for as long as it takes.
type Candidate = JoinHandle<Result<Backend, StartError>>;

/// What this process does.
enum Phase {
    Writes(Parts),
    StandsBy(Following, Candidate),
}

/// Everything that stays when the role changes.
struct Process<C, E> {
    config: ServerConfig,
    clock: Arc<C>,
    entropy: Arc<E>,
    /// Locked until the process ends, whatever it does meanwhile.
    checkpoint: FileCheckpointStore,
    at: Addresses,
    open: Open<C>,
    stop: watch::Sender<bool>,
    exchange: watch::Sender<Option<Exchange>>,
}

/// The database for whose lease this process waits, if it does.
fn awaited(config: &ServerConfig) -> Option<&Database> {
    let database = config.database.as_ref()?;
    (database.wait == Wait::ForTheWriter).then_some(database)
}

/// Starts: as the writer where nobody else is, and else standing by where that was asked for.
pub(super) async fn begin<C: Clock, E: Entropy>(
    config: ServerConfig,
    clock: Arc<C>,
    entropy: Arc<E>,
) -> Result<Running, StartError> {
    let Some(database) = awaited(&config) else {
        checkpoint::check_host(&config).await?;
        let store = Backend::open(&config.data_dir, config.database.as_ref()).await?;
        let place = (store, checkpoint::directory(&config)?);
        return Box::pin(write(config, clock, entropy, place)).await;
    };
    let file = checkpoint::directory(&config)?;
    let mut candidate = ask(&config);
    if let Ok(opened) = tokio::time::timeout(FREE_LEASE, &mut candidate).await {
        return Box::pin(write(config, clock, entropy, (flat(opened)?, file))).await;
    }
    let begun = tokio::select! {
        biased;
        opened = &mut candidate => {
            return Box::pin(write(config, clock, entropy, (flat(opened)?, file))).await;
        }
        begun = Box::pin(Begun::of(&config, (database, &file), &clock)) => begun,
    };
    match begun {
        Ok(Some(begun)) => {
            let own = (clock, entropy);
            Box::pin(stand_by(config, own, (begun, file), candidate)).await
        }
        // There is nothing to follow yet.
        Ok(None) => {
            let opened = candidate.await;
            Box::pin(write(config, clock, entropy, (flat(opened)?, file))).await
        }
        Err(error) => {
            candidate.abort();
            Err(error)
        }
    }
}

/// Asks for the lease until it is had, once this host has a checkpoint.
fn ask(config: &ServerConfig) -> Candidate {
    let config = config.clone();
    tokio::spawn(async move {
        checkpoint::wait_for_host(&config).await?;
        loop {
            match opened(&config.data_dir, config.database.as_ref()).await {
                Err(error) if error.may_pass() || error.is_suspension() => {
                    tracing::warn!(%error, "this process cannot write yet, and asks again");
                    tokio::time::sleep(RETRY).await;
                }
                opened => return Ok(opened?),
            }
        }
    })
}

/// Boxed: a task can hold it.
fn opened<'a>(
    data_dir: &'a Path,
    database: Option<&'a Database>,
) -> Pin<Box<dyn Future<Output = Result<Backend, OpenError>> + Send + 'a>> {
    Box::pin(Backend::open(data_dir, database))
}

fn flat(opened: Result<Result<Backend, StartError>, JoinError>) -> Result<Backend, StartError> {
    opened.unwrap_or_else(|panicked| Err(StartError::Panicked(panicked.to_string())))
}

async fn write<C: Clock, E: Entropy>(
    config: ServerConfig,
    clock: Arc<C>,
    entropy: Arc<E>,
    (store, file): (Backend, FileCheckpointStore),
) -> Result<Running, StartError> {
    let place = (Arc::new(store), file.clone());
    let ground = Box::pin(Ground::prepare(&config, &*clock, &*entropy, place, false)).await?;
    let listeners = Listeners::bind(&config).await?;
    let at = Addresses::of(&listeners);
    let (is_new, starts_blind) = (ground.is_new, ground.starts_blind.clone());
    let own = (&clock, &entropy);
    let raised = Box::pin(raise(ground, &config, own, &at, Warm::default())).await?;
    let Raised {
        app,
        parts,
        exchange,
    } = raised;
    let (metrics_addr, identity) = (listeners.metrics_addr, app.identity.clone());
    let present_routes = PresentRoutes::empty();
    present_routes.set(&app);
    drop(app);
    let own = (clock, entropy, file);
    let process = Process::over(config, own, (listeners, at), present_routes);
    process.exchange.send_replace(Some(exchange));
    let mut running = process.running(metrics_addr, identity);
    (running.is_new, running.starts_blind) = (is_new, starts_blind);
    running.ended = tokio::spawn(process.lead(Phase::Writes(parts)));
    Ok(running)
}

async fn stand_by<C: Clock, E: Entropy>(
    config: ServerConfig,
    (clock, entropy): (Arc<C>, Arc<E>),
    (begun, file): (Begun<C>, FileCheckpointStore),
    candidate: Candidate,
) -> Result<Running, StartError> {
    let starts_blind = check_endpoints(&sources_of(&config.network)?, &config.network).await?;
    let listeners = Listeners::bind(&config).await?;
    let at = Addresses::of(&listeners);
    let identity = begun.identity.opened.clone();
    let (following, app) = begun.run(&config, (&clock, &entropy), &at).await?;
    let metrics_addr = listeners.metrics_addr;
    let present_routes = PresentRoutes::empty();
    present_routes.set(&app);
    drop(app);
    let own = (clock, entropy, file);
    let process = Process::over(config, own, (listeners, at), present_routes);
    let mut running = process.running(metrics_addr, identity);
    running.starts_blind = starts_blind;
    running.ended = tokio::spawn(process.lead(Phase::StandsBy(following, candidate)));
    Ok(running)
}

impl<C: Clock, E: Entropy> Process<C, E> {
    fn over(
        config: ServerConfig,
        (clock, entropy, checkpoint): (Arc<C>, Arc<E>, FileCheckpointStore),
        (listeners, at): (Listeners, Addresses),
        present_routes: Arc<PresentRoutes<C>>,
    ) -> Process<C, E> {
        let stop = watch::Sender::new(false);
        Process {
            open: listeners.open(&config, present_routes, stop.subscribe()),
            config,
            clock,
            entropy,
            checkpoint,
            at,
            stop,
            exchange: watch::Sender::new(None),
        }
    }

    /// Leads it to its end.
    async fn lead(mut self, first: Phase) -> Result<(), RunError> {
        let mut phase = first;
        loop {
            phase = match phase {
                Phase::Writes(parts) => {
                    let may_stand_by = awaited(&self.config).is_some();
                    let stop = &self.stop;
                    match Box::pin(supervise(parts, &mut self.open, stop, may_stand_by)).await {
                        Ended::Over(ended) => return ended,
                        Ended::Replaced => match Box::pin(self.again()).await {
                            Ok(phase) => phase,
                            Err(error) => return self.over_with(error.into()).await,
                        },
                    }
                }
                Phase::StandsBy(following, candidate) => {
                    match Box::pin(self.follow(following, candidate)).await {
                        Ok(Some(phase)) => phase,
                        Ok(None) => return Ok(()),
                        Err(error) => return self.over_with(error).await,
                    }
                }
            };
        }
    }

    /// Ends for a reason of its own.
    async fn over_with(&mut self, error: RunError) -> Result<(), RunError> {
        tracing::error!(%error, "the ledger has stopped");
        self.open.present_routes.clear();
        self.stop.send_replace(true);
        let _ = last_requests(&mut self.open.served).await;
        Err(error)
    }

    /// Another process writes: everything is read again from the log. Where nobody else takes the lease
    /// this process gets it back meanwhile, and there is nobody to follow: what its rows reflect is
    /// published by itself alone.
    async fn again(&mut self) -> Result<Phase, Box<StartError>> {
        self.exchange.send_replace(None);
        let mut candidate = ask(&self.config);
        loop {
            let Some(database) = awaited(&self.config) else {
                return Err(Box::new(StartError::Panicked(
                    "nothing to follow".to_owned(),
                )));
            };
            let begun = tokio::select! {
                biased;
                opened = &mut candidate => {
                    let store = flat(opened)?;
                    tracing::warn!("this process has the lease again");
                    return self.write_on(store, Warm::default()).await;
                }
                begun = Box::pin(Begun::of(&self.config, (database, &self.checkpoint), &self.clock)) => begun,
            };
            match begun {
                Ok(Some(begun)) => {
                    let own = (&self.clock, &self.entropy);
                    let (following, app) = begun.run(&self.config, own, &self.at).await?;
                    self.open.present_routes.set(&app);
                    return Ok(Phase::StandsBy(following, candidate));
                }
                Ok(None) => {}
                Err(StartError::Store(error)) if error.may_pass() => {
                    tracing::warn!(%error, "the log cannot be followed yet");
                }
                Err(error) => {
                    candidate.abort();
                    return Err(Box::new(error));
                }
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Follows until this process can write; `None` when it was asked to stop before.
    async fn follow(
        &mut self,
        mut following: Following,
        mut candidate: Candidate,
    ) -> Result<Option<Phase>, RunError> {
        tokio::select! {
            biased;
            () = stopped(self.stop.subscribe()) => {
                tracing::info!("the process stops: it stood by");
                candidate.abort();
                following.phase.send_replace(true);
                let served = last_requests(&mut self.open.served).await;
                self.open.present_routes.clear();
                drop(following.end().await);
                served.map(|()| None)
            }
            ended = &mut following.follower => {
                candidate.abort();
                let ended = ended.map_err(RunError::from)?;
                Err(match ended {
                    Ok(_) => RunError::Panicked("the follower ended by itself".to_owned()),
                    Err(error) => error.into(),
                })
            }
            ended = &mut following.looks => {
                candidate.abort();
                ended??;
                Err(RunError::Panicked("nobody looks any more".to_owned()))
            }
            ended = &mut self.open.served => {
                candidate.abort();
                ended??;
                Err(RunError::Panicked("nothing is served any more".to_owned()))
            }
            opened = &mut candidate => {
                let store = flat(opened).map_err(Box::new)?;
                Ok(Some(Box::pin(self.take_over(following, store)).await?))
            }
        }
    }

    /// This process has the lease. Reads go on by what was followed until the ledger runs.
    async fn take_over(
        &mut self,
        following: Following,
        store: Backend,
    ) -> Result<Phase, Box<StartError>> {
        tracing::warn!("this process has the lease: it takes over");
        let phase = following.phase.clone();
        let warm = following.end().await;
        let writes = self.write_on(store, warm).await?;
        // Those who wait at the world that was followed ask again.
        phase.send_replace(true);
        Ok(writes)
    }

    /// Raises the ledger on a store whose lease this process has.
    async fn write_on(&mut self, store: Backend, warm: Warm) -> Result<Phase, Box<StartError>> {
        let (clock, entropy) = (&self.clock, &self.entropy);
        let place = (Arc::new(store), self.checkpoint.clone());
        let prepared = Ground::prepare(&self.config, &**clock, &**entropy, place, true);
        let own = (clock, entropy);
        let ground = Box::pin(prepared).await?;
        let raised = Box::pin(raise(ground, &self.config, own, &self.at, warm)).await?;
        self.open.present_routes.set(&raised.app);
        self.exchange.send_replace(Some(raised.exchange));
        Ok(Phase::Writes(raised.parts))
    }

    /// What whoever started this is told.
    fn running(
        &self,
        metrics_addr: Option<std::net::SocketAddr>,
        identity: x811_protocol::event::LedgerOpened,
    ) -> Running {
        Running {
            local_addr: self.at.local_addr,
            metrics_addr,
            identity,
            is_new: false,
            starts_blind: None,
            exchange: self.exchange.subscribe(),
            stop: self.stop.clone(),
            ended: tokio::spawn(std::future::ready(Ok(()))),
        }
    }
}
