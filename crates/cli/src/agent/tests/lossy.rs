//! A way to the ledger that loses answers.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Passes everything on to `ledger` and back, except the answers to the first `lost` POSTs.
pub(super) async fn losing_answers(ledger: SocketAddr, mut lost: u32) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut upstream = TcpStream::connect(ledger).await.unwrap();
            while let Some(request) = message(&mut client).await {
                upstream.write_all(&request).await.unwrap();
                let Some(answer) = message(&mut upstream).await else {
                    break;
                };
                if lost > 0 && request.starts_with(b"POST") {
                    lost -= 1;
                    break;
                }
                client.write_all(&answer).await.unwrap();
            }
        }
    });
    address
}

/// One HTTP message whose length its head names; `None` when nobody speaks any more.
async fn message(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let read = stream
            .read(&mut buffer)
            .await
            .ok()
            .filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, _)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let body_bytes: usize = head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .map_or(0, |(_, value)| value.parse().unwrap());
        if bytes.len() >= head.len() + 4 + body_bytes {
            return Some(bytes);
        }
    }
}
