//! `/metrics`: on its own address, every figure under its name, no label from outside.

use crate::world::{Deal, World};
use std::net::{Ipv4Addr, SocketAddr};

async fn scraped(world: &World) -> String {
    let (content_type, text) = scraped_as(world, "*/*").await;
    assert_eq!(content_type, "text/plain; version=0.0.4; charset=utf-8");
    text
}

/// Content type and text of the metrics for an `Accept` field.
async fn scraped_as(world: &World, accept: &str) -> (String, String) {
    let addr = world.running.metrics_addr.unwrap();
    let request = world.http.get(format!("http://{addr}/metrics"));
    let answer = request.header("accept", accept).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    let content_type = answer.headers()["content-type"].to_str().unwrap();
    (content_type.to_owned(), answer.text().await.unwrap())
}

fn with_metrics(config: &mut x811_server::ServerConfig) {
    config.metrics_listen = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
}

#[tokio::test]
async fn figures_follow_what_happened() {
    let world = World::start_blind_with(with_metrics).await;
    let (initiator, provider) = (world.agent().await, world.agent().await);
    let deal = Deal::new(&world, &initiator, &provider);
    world.accept(&deal.request).await;
    world
        .post(deal.request.json.clone())
        .await
        .refused(409, "X811-2001");
    world.post("{").await.refused(400, "X811-4001");
    world.get("/secret-path?word=Ada").await.expect(404);
    let text = scraped(&world).await;
    for line in [
        "x811_ready 1.0",
        "x811_store_suspended 0.0",
        "x811_messages_total{outcome=\"accepted\",code=\"\"} 3.0",
        "x811_messages_total{outcome=\"repeated\",code=\"\"} 0.0",
        "x811_messages_total{outcome=\"refused\",code=\"X811-2001\"} 1.0",
        "x811_messages_total{outcome=\"refused\",code=\"X811-4001\"} 1.0",
        "x811_interactions{state=\"pending\"} 1.0",
        "x811_held{kind=\"agents\"} 3.0",
        "x811_network_sight{network=\"local\",sight=\"fresh\"} 0.0",
        "x811_commit_failures_total 0.0",
        "x811_http_requests_total{method=\"POST\",route=\"/api/v1/messages\",status=\"202\"} 3",
        "x811_http_requests_total{method=\"GET\",route=\"(unknown)\",status=\"404\"} 1",
        "x811_endpoint_state{network=\"local\",endpoint=\"rpc\",state=\"good\"} 0.0",
        "x811_endpoint_leads{network=\"local\",endpoint=\"rpc\"} ",
        "x811_endpoint_calls_total{network=\"local\",endpoint=\"rpc\"} ",
        "x811_endpoint_failures_total{network=\"local\",endpoint=\"rpc\"} ",
        "x811_endpoint_disagreements_total{network=\"local\",endpoint=\"rpc\"} 0.0",
        "x811_watcher_indexed_blocks{network=\"local\"} 0.0",
        "x811_watcher_unsettled_transactions{network=\"local\"} 0.0",
        "x811_watcher_reorgs_total{network=\"local\"} 0.0",
        "x811_queue_capacity ",
        "x811_data_free_bytes ",
        "x811_rows_lag_records ",
        "x811_checkpoint_records ",
        "x811_checkpoint_age_seconds ",
        "x811_commit_duration_seconds_bucket{le=\"+Inf\"} ",
        "x811_commit_records_count ",
        "x811_turn_wait_seconds_count 4",
        "x811_feed_streams 0",
        "x811_data_wal_bytes{database=\"ledger.db\"} ",
        "x811_build_info{version=\"",
        "# TYPE x811_messages_total counter",
        "# TYPE x811_http_requests_total counter",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let ready = world.get("/ready").await.json();
    let endpoint = &ready["networks"][0]["endpoints"][0];
    assert_eq!(
        (&endpoint["label"], &endpoint["disagreements"]),
        (&"rpc".into(), &0.into())
    );
    assert!(!text.contains("Ada") && !text.contains("secret-path"));
    assert!(!text.contains(&initiator.uuid()));
}

#[tokio::test]
async fn a_scraper_that_asks_for_openmetrics_gets_it() {
    let world = World::start_with(with_metrics).await;
    let asked =
        "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    let (content_type, text) = scraped_as(&world, asked).await;
    assert_eq!(
        content_type,
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    assert!(text.contains("# TYPE x811_messages counter\n"), "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert!(!scraped(&world).await.contains("# EOF"));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_process_is_measured() {
    let world = World::start_with(with_metrics).await;
    let text = scraped(&world).await;
    for name in [
        "process_resident_memory_bytes",
        "process_cpu_seconds_total",
        "process_open_fds",
    ] {
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with(&format!("{name} ")));
        let line = line.unwrap_or_else(|| panic!("{name} is not in\n{text}"));
        let value: f64 = line.split(' ').nth(1).unwrap().parse().unwrap();
        assert!(
            value >= 0.0 && (value > 0.0 || name.contains("cpu")),
            "{name}"
        );
    }
}

#[tokio::test]
async fn metrics_are_nowhere_unless_given_an_address_and_never_beside_the_api() {
    let world = World::start().await;
    assert_eq!(world.running.metrics_addr, None);
    world.get("/metrics").await.expect(404);
    let world = World::start_with(with_metrics).await;
    world.get("/metrics").await.expect(404);
    let addr = world.running.metrics_addr.unwrap();
    let other = world.http.get(format!("http://{addr}/ready")).send();
    assert_eq!(other.await.unwrap().status().as_u16(), 404);
}
