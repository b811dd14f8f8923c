//! A TCP tunnel that can be cut or fall silent, for a WebSocket to run through: it knows nothing of
//! what it carries.

#![expect(
    clippy::expect_used,
    reason = "a harness stops the test at once, and the message names what was missing"
)]

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

const PATIENCE: Duration = Duration::from_secs(30);

/// What a tunnel does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It carries everything.
    Pass,
    /// Its connections end, and new ones end at once.
    Kill,
    /// Its connections stay, take everything, and carry nothing.
    Blackhole,
}

/// A running tunnel. It ends when this is dropped, and its connections with it.
#[derive(Debug)]
pub struct Tunnel {
    address: String,
    mode: watch::Sender<Mode>,
    taken: watch::Receiver<usize>,
    task: JoinHandle<()>,
}

impl Tunnel {
    /// To `upstream`, host and port, on a free port.
    ///
    /// # Panics
    /// When there is no port.
    pub async fn start(upstream: &str) -> Tunnel {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound").to_string();
        let mode = watch::Sender::new(Mode::Pass);
        let (count, taken) = watch::channel(0);
        let task = tokio::spawn(serve(
            listener,
            upstream.to_owned(),
            mode.subscribe(),
            count,
        ));
        Tunnel {
            address,
            mode,
            taken,
            task,
        }
    }

    /// Host and port of its near end.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// From now on it does this.
    pub fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// Connections so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        *self.taken.borrow()
    }

    /// Waits until there have been `count` connections.
    ///
    /// # Panics
    /// When there are not in half a minute.
    pub async fn until_connections(&self, count: usize) {
        let mut taken = self.taken.clone();
        let waiting = taken.wait_for(|taken| *taken >= count);
        tokio::time::timeout(PATIENCE, waiting)
            .await
            .expect("somebody connects in time")
            .expect("the tunnel is there");
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    listener: TcpListener,
    upstream: String,
    mode: watch::Receiver<Mode>,
    taken: watch::Sender<usize>,
) {
    let mut connections = JoinSet::new();
    while let Ok((near, _)) = listener.accept().await {
        let (upstream, mode) = (upstream.clone(), mode.clone());
        connections.spawn(async move { carry(near, &upstream, mode).await });
        taken.send_modify(|count| *count += 1);
        while connections.try_join_next().is_some() {}
    }
}

async fn carry(near: TcpStream, upstream: &str, mut mode: watch::Receiver<Mode>) {
    let mut killed = mode.clone();
    let carried = async {
        // A new connection leads nowhere for so long.
        let _ = mode.wait_for(|mode| *mode == Mode::Pass).await;
        let Ok(far) = TcpStream::connect(upstream).await else {
            return;
        };
        let (near_in, near_out) = near.into_split();
        let (far_in, far_out) = far.into_split();
        tokio::select! {
            () = one_way(near_in, far_out, mode.clone()) => {}
            () = one_way(far_in, near_out, mode.clone()) => {}
        }
    };
    tokio::select! {
        () = carried => {}
        _ = killed.wait_for(|mode| *mode == Mode::Kill) => {}
    }
}

async fn one_way(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mode: watch::Receiver<Mode>,
) {
    let mut part = vec![0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut part).await {
        let is_carried = *mode.borrow() == Mode::Pass;
        if is_carried && to.write_all(&part[..length]).await.is_err() {
            return;
        }
    }
}
