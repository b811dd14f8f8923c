//! Where this process listens. It stays when its role changes.

use super::{StartError, bind, bind_metrics};
use crate::config::ServerConfig;
use crate::connections::{ConnectionFigures, Connections};
use crate::present_routes::{Figures, PresentRoutes};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use x811_ledger::clock::Clock;

/// Both addresses, before anything is served there.
pub(super) struct Listeners {
    public: TcpListener,
    metrics: Option<TcpListener>,
    connections: Connections,
    pub(super) local_addr: SocketAddr,
    pub(super) metrics_addr: Option<SocketAddr>,
}

/// HTTP as it is served.
pub(super) struct Open<C> {
    pub(super) present_routes: Arc<PresentRoutes<C>>,
    pub(super) served: JoinHandle<io::Result<()>>,
}

impl Listeners {
    pub(super) async fn bind(config: &ServerConfig) -> Result<Listeners, StartError> {
        let (public, local_addr) = bind(config.listen).await?;
        let (metrics, metrics_addr) = bind_metrics(config.metrics_listen).await?;
        Ok(Listeners {
            public,
            metrics,
            connections: Connections::new(config.connections),
            local_addr,
            metrics_addr,
        })
    }

    /// What operators are told of connections.
    pub(super) fn figures(&self) -> Arc<ConnectionFigures> {
        self.connections.figures()
    }

    /// Serves what is on `present_routes` until `stopping`.
    pub(super) fn open<C: Clock>(
        self,
        config: &ServerConfig,
        present_routes: Arc<PresentRoutes<C>>,
        stopping: watch::Receiver<bool>,
    ) -> Open<C> {
        let own = Connections::new(config.connections);
        let figures = Arc::new(Figures(present_routes.clone()));
        let public = self
            .connections
            .serve(self.public, present_routes.clone(), stopping.clone());
        let metrics = self.metrics;
        let served = tokio::spawn(async move {
            let Some(metrics) = metrics else {
                drop(figures);
                return public.await;
            };
            let figures = own.serve(metrics, figures, stopping);
            tokio::try_join!(public, figures).map(|_| ())
        });
        Open {
            present_routes,
            served,
        }
    }
}
