//! Ports for processes that are told where to listen before they run.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the ports that Linux gives to whoever asks for any: nobody is given one before the process listens.
const FIRST: u32 = 10_000;
const COUNT: u32 = 20_000;

static TAKEN: AtomicU32 = AtomicU32::new(0);

/// Returns ports of 127.0.0.1 that nobody listens on. Processes that ask at the same time are given others.
pub fn free_ports<const N: usize>() -> [u16; N] {
    [(); N].map(|()| free_port())
}

fn free_port() -> u16 {
    let process = std::process::id().wrapping_mul(17);
    let tried = (0..COUNT).map(|_| {
        let number = process.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed));
        u16::try_from(FIRST + number % COUNT).unwrap_or(u16::MAX)
    });
    let mut free = tried.filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    free.next().unwrap_or_default()
}
