//! From settings to what the server is started with, and back for whoever wants to see it.

mod store;

use std::path::PathBuf;

use x811_protocol::evm::ChainId;
use x811_protocol::parameters::{
    Capabilities, Contracts, Exclusion, FinalBy, PayerBindingRule, Rounds,
};
use x811_server::{EndpointConfig, LogReaders, NetworkConfig, RateLimits, RpcUrl, ServerConfig};

use super::settings::{self, Settings};
use super::value::{Address, Binding, Block, LogFormat, Preset, Readers, Secret, Usdc};
use crate::bounded;
use crate::failure::Failure;

/// Where everything lies unless told otherwise.
const DATA_DIR: &str = "./x811-data";

/// Shown in place of an address that may hold a key.
const HIDDEN: &str = "(hidden)";

/// Everything that is in force.
#[derive(Debug, PartialEq)]
pub(super) struct Effective {
    pub(super) server: ServerConfig,
    pub(super) log_format: LogFormat,
    pub(super) log_filter: String,
    /// Where spans go.
    pub(super) otlp_endpoint: Option<Secret>,
}

impl TryFrom<Settings> for Effective {
    type Error = Failure;

    fn try_from(given: Settings) -> Result<Effective, Failure> {
        let network = network(given.network)?;
        let data_dir = given.data.dir.unwrap_or_else(|| PathBuf::from(DATA_DIR));
        let mut server = ServerConfig::new(data_dir, network);
        server.checkpoint_dir = given.data.checkpoint_dir;
        server.peers = store::peers(given.store.peers.as_deref())?;
        server.database = store::database(given.store)?;
        put(&mut server.listen, given.server.listen);
        let every = given.data.snapshot_every_records;
        put(&mut server.snapshot_every_records, every);
        server.metrics_listen = given.metrics.listen;
        put(&mut server.open_reads, given.server.open_reads);
        given.server.put_into(&mut server.connections);
        let authorities = given.server.public_authority;
        put(&mut server.public_authorities, authorities);
        put(&mut server.auditors, given.server.auditors);
        put(&mut server.operators, given.server.operators);
        let binding = given.rules.payer_binding.map(|binding| match binding {
            Binding::Wallet => PayerBindingRule::Wallet,
            Binding::Unchecked => PayerBindingRule::Unchecked,
        });
        put(&mut server.payer_binding, binding);
        put(&mut server.lenient, given.rules.lenient);
        put(
            &mut server.log_readers,
            given.log.readers.map(LogReaders::from),
        );
        windows(&mut server, &given.windows);
        given.limits.put_into(&mut server.limits);
        contracts(&mut server, &given.contracts);
        capabilities(&mut server, &given.capabilities);
        server.rounds = rounds(given.rounds)?;
        rates(&mut server.rate_limits, given.rates);
        Ok(Effective {
            server,
            log_format: given.log.format.unwrap_or(LogFormat::Text),
            log_filter: given.log.filter.unwrap_or_else(|| "info".to_owned()),
            otlp_endpoint: given.telemetry.otlp_endpoint,
        })
    }
}

impl Effective {
    /// As a file would have to say it, but for the endpoint's address.
    pub(super) fn shown(&self) -> Settings {
        let server = &self.server;
        Settings {
            server: shown_server(server),
            data: settings::Data {
                dir: Some(server.data_dir.clone()),
                snapshot_every_records: Some(server.snapshot_every_records),
                checkpoint_dir: server.checkpoint_directory(),
            },
            store: store::shown(server.database.as_ref(), &server.peers),
            network: shown_network(&server.network),
            windows: settings::Windows {
                looks_ms: Some(server.looks_ms),
                ..settings::Windows::of(&server.windows)
            },
            rules: settings::Rules {
                payer_binding: Some(match server.payer_binding {
                    PayerBindingRule::Wallet => Binding::Wallet,
                    PayerBindingRule::Unchecked => Binding::Unchecked,
                }),
                lenient: Some(server.lenient.clone()),
            },
            limits: settings::Limits::of(&server.limits),
            contracts: shown_contracts(server),
            capabilities: shown_capabilities(server),
            rounds: shown_rounds(server),
            rates: shown_rates(&server.rate_limits),
            log: settings::Log {
                readers: Some(Readers::from(server.log_readers)),
                format: Some(self.log_format),
                filter: Some(self.log_filter.clone()),
            },
            metrics: settings::Metrics {
                listen: server.metrics_listen,
            },
            telemetry: settings::Telemetry {
                otlp_endpoint: self.otlp_endpoint.as_ref().map(|_| hidden()),
            },
        }
    }
}

fn hidden() -> Secret {
    Secret(HIDDEN.to_owned())
}

fn network(given: settings::Network) -> Result<NetworkConfig, Failure> {
    let rpc_url = rpc_url(given.rpc_url, given.rpc_url_file, "rpc_url")?.ok_or_else(|| {
        Failure::usage(
            "no JSON-RPC endpoint is given: --rpc, --rpc-file, X811_RPC_URL, or `rpc_url` under [network]",
        )
    })?;
    let (second, file) = (given.second_rpc_url, given.second_rpc_url_file);
    let second = self::rpc_url(second, file, "second_rpc_url")?;
    let ws_url = self::rpc_url(given.ws_url, given.ws_url_file, "ws_url")?;
    let (second_ws, file) = (given.second_ws_url, given.second_ws_url_file);
    let second_ws = self::rpc_url(second_ws, file, "second_ws_url")?;
    if second_ws.is_some() && second.is_none() {
        return Err(Failure::usage(
            "second_ws_url is given without second_rpc_url: give the endpoint's own address, too",
        ));
    }
    let mut network = match given.preset.unwrap_or(Preset::Base) {
        Preset::Base => NetworkConfig::base(rpc_url),
        Preset::BaseSepolia => NetworkConfig::base_sepolia(rpc_url),
        Preset::Local => {
            let token = given.token.ok_or_else(|| {
                Failure::usage(
                    "network `local` needs the USDC contract there: --token, X811_TOKEN or `token` \
                     under [network]",
                )
            })?;
            NetworkConfig::local(rpc_url, token.0)
        }
    };
    put(&mut network.name, given.name);
    put(&mut network.chain_id, given.chain_id.map(ChainId::new));
    put(&mut network.token, given.token.map(|token| token.0));
    network.treasury = given.treasury.map(|treasury| treasury.0);
    put(&mut network.confirmed_depth, given.confirmed_depth);
    network.endpoint_quorum = given.endpoint_quorum;
    network.safe_above = given.safe_above_usdc.map(|amount| amount.0);
    put(&mut network.final_by, given.final_by.map(FinalBy::from));
    put(&mut network.poll_ms, given.poll_ms);
    put(&mut network.block_ms, given.block_ms);
    let blind_page_after_ms = given.blind_page_after_ms;
    put(&mut network.blind_page_after_ms, blind_page_after_ms);
    put(&mut network.endpoints[0].label, given.endpoint_label);
    network.endpoints[0].ws_url = ws_url;
    if let Some(mut second) = second.map(EndpointConfig::second) {
        second.ws_url = second_ws;
        put(&mut second.label, given.second_endpoint_label);
        network.endpoints.push(second);
    }
    for further in given.further.unwrap_or_default() {
        let endpoint = endpoint(further, network.endpoints.len() + 1)?;
        network.endpoints.push(endpoint);
    }
    Ok(network)
}

/// The endpoint of that number, which its label has unless it is given.
fn endpoint(given: settings::Further, number: usize) -> Result<EndpointConfig, Failure> {
    let rpc_url = self::rpc_url(given.rpc_url, given.rpc_url_file, "rpc_url")?;
    let rpc_url = rpc_url.ok_or_else(|| {
        Failure::usage("[[network.further]] has neither rpc_url nor rpc_url_file: give one")
    })?;
    let ws_url = self::rpc_url(given.ws_url, given.ws_url_file, "ws_url")?;
    let label = given.endpoint_label;
    Ok(EndpointConfig {
        rpc_url,
        ws_url,
        label: label.unwrap_or_else(|| format!("rpc-{number}")),
    })
}

/// An endpoint's address, given in one of the two ways; `name` is that of the first.
fn rpc_url(
    url: Option<Secret>,
    file: Option<PathBuf>,
    name: &str,
) -> Result<Option<RpcUrl>, Failure> {
    Ok(address(url, file, name)?.map(RpcUrl::new))
}

/// Most bytes of a file with an address.
const MAX_ADDRESS_BYTES: usize = 1 << 16;

/// The same of any address that may hold a secret.
fn address(
    url: Option<Secret>,
    file: Option<PathBuf>,
    name: &str,
) -> Result<Option<String>, Failure> {
    let file = match (url, file) {
        (url, None) => return Ok(url.map(|url| url.0)),
        (None, Some(file)) => file,
        (Some(_), Some(_)) => {
            let message = format!("{name} and {name}_file are both given: leave one out");
            return Err(Failure::usage(&message));
        }
    };
    let hint = "put the address there, alone on one line";
    let text = bounded::text(&file, MAX_ADDRESS_BYTES).map_err(|error| {
        let file = file.display();
        Failure::local("config", format!("{name}_file {file}: {error}")).hint(hint)
    })?;
    match text.trim() {
        line if line.is_empty() || line.contains(char::is_whitespace) => {
            let file = file.display();
            let message = format!("{name}_file {file} does not hold one line");
            Err(Failure::local("config", message).hint(hint))
        }
        line => Ok(Some(line.to_owned())),
    }
}

fn windows(server: &mut ServerConfig, given: &settings::Windows) {
    given.put_into(&mut server.windows);
    if let Some(looks_ms) = given.looks_ms {
        server.looks_ms = looks_ms;
        // A pending look is never asked again later than the next one would be.
        let longest_ms = looks_ms.into_iter().max().unwrap_or_default();
        server.limits.pending_look_ms = server.limits.pending_look_ms.min(longest_ms);
    }
}

fn contracts(server: &mut ServerConfig, given: &settings::Contracts) {
    let mut block = server.contracts.unwrap_or(Contracts::DEFAULT);
    given.put_into(&mut block);
    server.contracts = given.enabled.unwrap_or(true).then_some(block);
}

fn capabilities(server: &mut ServerConfig, given: &settings::Capabilities) {
    let mut block = server.capabilities.unwrap_or(Capabilities::DEFAULT);
    given.put_into(&mut block);
    let mut exclusion = block.exclusion.unwrap_or(Exclusion::DEFAULT);
    put(&mut exclusion.breaches, given.exclusion_breaches);
    put(&mut exclusion.within_ms, given.exclusion_within_ms);
    put(&mut exclusion.for_ms, given.exclusion_for_ms);
    block.exclusion = given.exclusion.unwrap_or(true).then_some(exclusion);
    server.capabilities = given.enabled.unwrap_or(true).then_some(block);
}

fn shown_capabilities(server: &ServerConfig) -> settings::Capabilities {
    let block = server.capabilities;
    let exclusion = block.and_then(|block| block.exclusion);
    settings::Capabilities {
        enabled: Some(block.is_some()),
        exclusion: block.map(|block| block.exclusion.is_some()),
        exclusion_breaches: exclusion.map(|rule| rule.breaches),
        exclusion_within_ms: exclusion.map(|rule| rule.within_ms),
        exclusion_for_ms: exclusion.map(|rule| rule.for_ms),
        ..block
            .as_ref()
            .map(settings::Capabilities::of)
            .unwrap_or_default()
    }
}

/// The defaults with what is given in their place. Rounds are opened where somebody says so.
fn rounds(given: settings::Rounds) -> Result<Option<Rounds>, Failure> {
    if given.enabled != Some(true) {
        return Ok(None);
    }
    let mut block = serde_json::json!(Rounds::DEFAULT);
    for (name, value) in given.given {
        block[name] = value;
    }
    let block = serde_json::from_value(block);
    let block = block.map_err(|error| Failure::usage(&format!("[rounds]: {error}")))?;
    Ok(Some(block))
}

fn shown_rounds(server: &ServerConfig) -> settings::Rounds {
    let block = server.rounds.as_ref().map(|block| serde_json::json!(block));
    let members = block.and_then(|block| block.as_object().cloned());
    settings::Rounds {
        enabled: Some(server.rounds.is_some()),
        given: members.unwrap_or_default(),
    }
}

fn shown_contracts(server: &ServerConfig) -> settings::Contracts {
    let block = server.contracts;
    settings::Contracts {
        enabled: Some(block.is_some()),
        ..block
            .as_ref()
            .map(settings::Contracts::of)
            .unwrap_or_default()
    }
}

fn shown_server(server: &ServerConfig) -> settings::Server {
    settings::Server {
        listen: Some(server.listen),
        open_reads: Some(server.open_reads),
        public_authority: Some(server.public_authorities.clone()),
        auditors: Some(server.auditors.clone()),
        operators: Some(server.operators.clone()),
        ..settings::Server::of(&server.connections)
    }
}

fn shown_network(network: &NetworkConfig) -> settings::Network {
    let label = |place: usize| Some(network.endpoints.get(place)?.label.clone());
    let announced = |place: usize| {
        let endpoint = network.endpoints.get(place)?;
        endpoint.ws_url.as_ref().map(|_| hidden())
    };
    settings::Network {
        preset: preset_of(network),
        rpc_url: Some(hidden()),
        rpc_url_file: None,
        ws_url: announced(0),
        ws_url_file: None,
        name: Some(network.name.clone()),
        chain_id: Some(network.chain_id.as_u64()),
        token: Some(Address(network.token)),
        treasury: network.treasury.map(Address),
        confirmed_depth: Some(network.confirmed_depth),
        endpoint_quorum: network.endpoint_quorum,
        safe_above_usdc: network.safe_above.map(Usdc),
        final_by: Some(network.final_by.into()),
        poll_ms: Some(network.poll_ms),
        block_ms: Some(network.block_ms),
        blind_page_after_ms: Some(network.blind_page_after_ms),
        endpoint_label: label(0),
        second_rpc_url: label(1).map(|_| hidden()),
        second_rpc_url_file: None,
        second_ws_url: announced(1),
        second_ws_url_file: None,
        second_endpoint_label: label(1),
        further: shown_further(&network.endpoints),
    }
}

/// The third endpoint and those behind it.
fn shown_further(endpoints: &[EndpointConfig]) -> Option<Vec<settings::Further>> {
    let further = endpoints.get(2..).filter(|further| !further.is_empty())?;
    let shown = further.iter().map(|endpoint| settings::Further {
        rpc_url: Some(hidden()),
        rpc_url_file: None,
        ws_url: endpoint.ws_url.as_ref().map(|_| hidden()),
        ws_url_file: None,
        endpoint_label: Some(endpoint.label.clone()),
    });
    Some(shown.collect())
}

fn rates(rates: &mut RateLimits, given: settings::Rates) {
    given.put_into(rates);
    let blocks = given.trusted_proxies;
    let proxies = blocks.map(|blocks| blocks.into_iter().map(|block| block.0).collect());
    put(&mut rates.trusted_proxies, proxies);
}

fn shown_rates(rates: &RateLimits) -> settings::Rates {
    settings::Rates {
        trusted_proxies: Some(rates.trusted_proxies.iter().cloned().map(Block).collect()),
        ..settings::Rates::of(rates)
    }
}

fn preset_of(network: &NetworkConfig) -> Option<Preset> {
    match network.name.as_str() {
        "base" => Some(Preset::Base),
        "base-sepolia" => Some(Preset::BaseSepolia),
        "local" => Some(Preset::Local),
        _ => None,
    }
}

fn put<T>(place: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *place = given;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::layers::{merge, parse};
    use super::*;

    /// The commented file that operators begin with.
    const SHIPPED: &str = include_str!("../../../../packaging/x811.toml");

    fn effective(text: &str) -> Result<Effective, Failure> {
        parse(Path::new("x811.toml"), text)?.try_into()
    }

    #[test]
    fn the_shipped_file_says_what_holds_without_it() {
        let bare = "[network]\nrpc_url = \"http://127.0.0.1:8545\"\n";
        let endpoint = parse(Path::new("bare"), bare).unwrap();
        let shipped = parse(Path::new("packaging/x811.toml"), SHIPPED).unwrap();
        let both = merge(&shipped, &endpoint).unwrap();
        assert_eq!(Effective::try_from(both), effective(bare));
    }

    #[test]
    fn the_shipped_file_names_every_setting() {
        // What has no default stands there as `#key = value`.
        let uncommented: String = SHIPPED
            .lines()
            .filter(|line| !line.contains("url_file ="))
            .map(|line| match line.strip_prefix('#') {
                Some(setting) if !setting.starts_with(' ') => format!("{setting}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let all = effective(&uncommented).unwrap();
        let named: toml::Table = toml::from_str(&uncommented).unwrap();
        let shown = toml::Table::try_from(all.shown()).unwrap();
        for (section, keys) in &shown {
            for key in keys.as_table().unwrap().keys() {
                assert!(named[section].get(key).is_some(), "[{section}] {key}");
            }
        }
    }

    #[test]
    fn what_is_shown_is_what_was_given_without_the_address() {
        let text = "[server]\nlisten = \"127.0.0.1:7\"\n[network]\npreset = \"base-sepolia\"\n\
                    rpc_url = \"https://host/SECRET\"\nws_url = \"wss://host/SECRET\"\n\
                    second_ws_url = \"wss://other/SECRET\"\n\
                    second_rpc_url = \"https://other/SECRET\"\nsafe_above_usdc = \"10.5\"\n\
                    [[network.further]]\nrpc_url = \"https://third/SECRET\"\n\
                    [[network.further]]\nrpc_url = \"https://fourth/SECRET\"\n\
                    endpoint_label = \"spare\"\n\
                    [windows]\noffer_ms = 2500\n";
        let effective = effective(text).unwrap();
        assert_eq!(effective.server.network.chain_id, ChainId::new(84_532));
        assert!(!format!("{effective:?}").contains("SECRET"));
        let shown = toml::to_string(&effective.shown()).unwrap();
        assert!(!shown.contains("SECRET"), "{shown}");
        for line in [
            "listen = \"127.0.0.1:7\"",
            "name = \"base-sepolia\"",
            "safe_above_usdc = \"10.5\"",
            "offer_ms = 2500",
            "rpc_url = \"(hidden)\"",
            "ws_url = \"(hidden)\"",
            "second_ws_url = \"(hidden)\"",
            "second_rpc_url = \"(hidden)\"",
            "second_endpoint_label = \"rpc-2\"",
            "endpoint_label = \"rpc-3\"",
            "endpoint_label = \"spare\"",
        ] {
            assert!(shown.contains(line), "{shown}");
        }
        let again: Effective = parse(Path::new("shown"), &shown)
            .unwrap()
            .try_into()
            .unwrap();
        assert_eq!(again.shown(), effective.shown());
    }

    #[test]
    fn an_endpoint_is_needed_once() {
        let both = "[network]\nrpc_url = \"http://a\"\nrpc_url_file = \"b\"\n";
        for (text, why) in [
            ("", "no JSON-RPC endpoint"),
            (both, "both given"),
            (
                "[network]\nsecond_rpc_url = \"http://a\"\n",
                "no JSON-RPC endpoint",
            ),
            (
                "[network]\nrpc_url = \"http://a\"\nsecond_rpc_url = \"http://b\"\n\
                 second_rpc_url_file = \"c\"\n",
                "second_rpc_url and second_rpc_url_file",
            ),
            (
                "[network]\nrpc_url_file = \"no/such/file\"\n",
                "no/such/file",
            ),
            (
                "[network]\nrpc_url = \"http://a\"\nsecond_ws_url = \"ws://b\"\n",
                "without second_rpc_url",
            ),
            (
                "[network]\nrpc_url = \"http://a\"\n[[network.further]]\nws_url = \"ws://b\"\n",
                "neither rpc_url nor rpc_url_file",
            ),
            (
                "[network]\npreset = \"local\"\nrpc_url = \"http://a\"\n",
                "needs the USDC contract",
            ),
        ] {
            let failure = effective(text).unwrap_err();
            assert!(failure.message.contains(why), "{}", failure.message);
        }
    }
}
