use super::*;
use x811_client::agent::Question;
use x811_client::clock::SystemClock;
use x811_client::entropy::SystemEntropy;
use x811_protocol::digest::Digest;
use x811_protocol::money::MicroUsdc;

const PLANT: &str = "<script>x()</script>\"'";

struct Scene {
    page: Arc<Page>,
    folder: tempfile::TempDir,
    session: String,
}

fn usdc(micro_usdc: u64) -> MicroUsdc {
    MicroUsdc::from_micro_usdc(micro_usdc).unwrap()
}

impl Scene {
    /// A page with one question, and somebody inside.
    async fn set() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
        let approvals = Approvals::beside(folder.path());
        let now = SystemClock.now();
        let question = Question {
            interaction: "0190a1b2-c3d4-7e5f-8901-234567890abc".parse().unwrap(),
            provider: "did:x811:019c8c61-8129-7511-9f31-aa5142e65448"
                .parse()
                .unwrap(),
            task_type: PLANT.to_owned(),
            total: usdc(29_725),
            price: usdc(29_000),
            max_budget: usdc(50_000),
            estimated_time_s: 5,
            deliverables: vec![PLANT.to_owned()],
            terms: Some(PLANT.to_owned()),
            offer_hash: Digest::of(b"offer"),
            asked_at_ms: now,
            answer_by_ms: now.saturating_add_ms(60_000),
            decision: None,
        };
        approvals.write(&question).unwrap();
        let listening = Page::listen(0, approvals, clock, entropy).await;
        let (page, _listener) = listening.unwrap_or_else(|_| panic!("a free port"));
        let mut scene = Scene {
            page,
            folder,
            session: String::new(),
        };
        let entered = scene.enter(&scene.code());
        let cookie = entered.headers()[SET_COOKIE].to_str().unwrap();
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"));
        let session = cookie.split(';').next().unwrap().to_owned();
        scene.session = session;
        scene
    }

    fn code(&self) -> String {
        let link = self.page.link().unwrap();
        let own = format!("http://{}/in/", self.page.authority);
        link.strip_prefix(&own).unwrap().to_owned()
    }

    fn enter(&self, code: &str) -> Response<String> {
        let host = self.page.authority.clone();
        self.ask(Method::GET, &format!("/in/{code}"), &[("host", &host)], "")
    }

    fn ask(
        &self,
        method: Method,
        path: &str,
        fields: &[(&str, &str)],
        form: &str,
    ) -> Response<String> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        self.page.respond(&head, form)
    }

    /// As the browser of the person who is inside.
    fn inside(&self, method: Method, path: &str, form: &str) -> Response<String> {
        let host = self.page.authority.as_str();
        let origin = format!("http://{host}");
        let fields = [
            ("host", host),
            ("origin", &origin),
            ("cookie", &self.session),
        ];
        self.ask(method, path, &fields, form)
    }

    fn form(&self, total: u64, answer: &str) -> String {
        let hash = Digest::of(b"offer");
        let id = "0190a1b2-c3d4-7e5f-8901-234567890abc";
        format!(
            "interaction={id}&offer_hash={hash}&total_micro_usdc={total}&answer={answer}\
             &reason=too+dear%21"
        )
    }

    fn decided(&self) -> Option<(Answer, Option<String>)> {
        let questions = Approvals::beside(self.folder.path()).list().unwrap();
        let decision = questions[0].decision.clone();
        decision.map(|decision| (decision.answer, decision.reason))
    }
}

#[tokio::test]
async fn ae_113_a_person_decides_on_the_page_about_what_it_showed() {
    let scene = Scene::set().await;
    let page = scene.inside(Method::GET, "/", "");
    assert_eq!(page.status(), 200);
    let body = page.body();
    assert!(
        body.contains("s left</strong>") && body.contains("0.029725 USDC"),
        "{body}"
    );
    let other = scene.inside(Method::POST, "/decide", &scene.form(29_724, "approve"));
    assert_eq!(other.status(), 409, "another total");
    assert_eq!(scene.decided(), None);
    let taken = scene.inside(Method::POST, "/decide", &scene.form(29_725, "reject"));
    assert_eq!(taken.status(), 303);
    assert_eq!(
        scene.decided(),
        Some((Answer::Reject, Some("too dear!".to_owned())))
    );
    let after = scene.inside(Method::GET, "/", "");
    assert!(after.body().contains("Nothing waits"), "{}", after.body());
}

#[tokio::test]
async fn ae_113_nothing_of_a_stranger_is_markup_and_nothing_runs() {
    let scene = Scene::set().await;
    let page = scene.inside(Method::GET, "/", "");
    assert!(!page.body().contains("<script"), "{}", page.body());
    assert_eq!(page.body().matches("&lt;script&gt;").count(), 3);
    let policy = page.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    assert_eq!(page.headers()[CACHE_CONTROL], "no-store");
}

#[tokio::test]
async fn ae_113_a_link_is_good_once_and_only_the_newest() {
    let scene = Scene::set().await;
    let (first, second) = (scene.code(), scene.code());
    assert_eq!(scene.enter(&first).status(), 403, "there is a newer one");
    let short = &second[..second.len() - 1];
    for wrong in ["", short, &"0".repeat(64)] {
        assert_eq!(scene.enter(wrong).status(), 403, "{wrong}");
    }
    assert_eq!(
        scene.enter(&second).status(),
        303,
        "wrong ones spend nothing"
    );
    assert_eq!(scene.enter(&second).status(), 403, "it was used");
    // The newest session ends the one before.
    assert_eq!(scene.inside(Method::GET, "/", "").status(), 403);
}

#[tokio::test]
async fn ae_113_others_on_this_computer_and_other_sites_decide_nothing() {
    let scene = Scene::set().await;
    let (host, form) = (scene.page.authority.clone(), scene.form(29_725, "approve"));
    let origin = format!("http://{host}");
    let session = scene.session.as_str();
    let good = [
        ("host", host.as_str()),
        ("origin", &origin),
        ("cookie", session),
    ];
    let with = |name: &str, value: &str| {
        let changed = good.map(|(known, old)| (known, if known == name { value } else { old }));
        scene.ask(Method::POST, "/decide", &changed, &form).status()
    };
    let without = |name: &str| {
        let rest = good.iter().filter(|(known, _)| *known != name).copied();
        let rest: Vec<_> = rest.collect();
        scene.ask(Method::POST, "/decide", &rest, &form).status()
    };
    // A name that leads to 127.0.0.1, the page of another site, another program of this computer.
    assert_eq!(with("host", "evil.example"), 421);
    assert_eq!(without("host"), 421);
    assert_eq!(with("origin", "http://evil.example"), 403);
    assert_eq!(with("origin", "null"), 403);
    assert_eq!(without("origin"), 403);
    assert_eq!(with("cookie", "x811_approvals=0"), 403);
    assert_eq!(without("cookie"), 403);
    assert_eq!(scene.decided(), None);
    let fields = [("host", host.as_str())];
    assert_eq!(scene.ask(Method::GET, "/", &fields, "").status(), 403);
    assert_eq!(scene.inside(Method::GET, "/decide", &form).status(), 404);
    assert_eq!(scene.inside(Method::POST, "/decide", &form).status(), 303);
}
