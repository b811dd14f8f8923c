//! A client that costs as little as it can: requests are bytes that were made before, and of an
//! answer nothing is read but its status and its length.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::broken;
use crate::clients::{Outcome, Sender};
use x811_console::failure::Failure;

/// A request, ready to be written.
#[derive(Debug)]
pub(crate) struct Request(Vec<u8>);

impl Request {
    pub(crate) fn post(host: SocketAddr, path: &str, body: &[u8]) -> Request {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        Request([head.as_bytes(), body].concat())
    }

    pub(crate) fn get(host: SocketAddr, path: &str) -> Request {
        let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        Request(head.into_bytes())
    }
}

/// A connection that stays open.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    /// The answer, as far as it was read.
    answer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Connection, Failure> {
        let stream = TcpStream::connect(address).await.map_err(broken)?;
        stream.set_nodelay(true).map_err(broken)?;
        Ok(Connection {
            stream,
            answer: Vec::new(),
        })
    }

    /// Writes the request and reads the whole answer: its status and its body.
    pub(crate) async fn exchange(&mut self, request: &Request) -> Result<(u16, &[u8]), Failure> {
        self.answer.clear();
        let written = self.stream.write_all(&request.0);
        written.await.map_err(broken)?;
        loop {
            if let Some(head) =
                Head::read(&self.answer).filter(|head| head.end <= self.answer.len())
            {
                return Ok((head.status, &self.answer[head.body..head.end]));
            }
            let read = self.stream.read_buf(&mut self.answer);
            if read.await.map_err(broken)? == 0 {
                return Err(broken("the server closed a connection"));
            }
        }
    }
}

impl Sender for Connection {
    type Message = Request;

    async fn send(&mut self, message: &Request) -> Result<Outcome, Failure> {
        match self.exchange(message).await? {
            (202, _) => Ok(Outcome::Accepted),
            (status, body) => {
                let body = String::from_utf8_lossy(body);
                if matches!(status, 429 | 503) {
                    return Ok(Outcome::Busy(body.into_owned()));
                }
                Err(broken(format_args!("the server answered {status}: {body}")))
            }
        }
    }
}

/// What matters of the head of an answer.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    /// Where the body begins.
    body: usize,
    /// Where it ends.
    end: usize,
}

impl Head {
    /// `None` while it is not all there, or when it is none.
    fn read(answer: &[u8]) -> Option<Head> {
        let length = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
        let body = length + 4;
        let text = std::str::from_utf8(&answer[..length]).ok()?;
        let mut lines = text.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let content_length: usize = lines
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .and_then(|(_, value)| value.trim().parse().ok())?;
        Some(Head {
            status,
            body,
            end: body + content_length,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_body_is() {
        let answer = b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\nx: y\r\n\r\n{}";
        let head = Head::read(answer).unwrap();
        assert_eq!(
            (head.status, &answer[head.body..head.end]),
            (202, &b"{}"[..])
        );
        assert_eq!(head.end, answer.len());
        for cut in 0..answer.len() - 2 {
            let head = Head::read(&answer[..cut]);
            assert!(head.is_none_or(|head| head.end > cut), "{cut}");
        }
        assert_eq!(Head::read(b"nonsense\r\n\r\n"), None);
    }

    #[test]
    fn a_request_names_host_and_length() {
        let host: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let request = Request::post(host, "/a", b"{}");
        let text = String::from_utf8(request.0).unwrap();
        assert!(
            text.starts_with("POST /a HTTP/1.1\r\nhost: 127.0.0.1:80\r\n"),
            "{text}"
        );
        assert!(text.ends_with("\r\ncontent-length: 2\r\n\r\n{}"), "{text}");
        let request = Request::get(host, "/ready");
        assert!(request.0.ends_with(b"\r\n\r\n"));
    }
}
