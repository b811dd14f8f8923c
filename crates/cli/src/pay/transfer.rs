//! The transfer behind a PAYMENT: kept from an earlier run, found on the chain, or made now.

use serde::Serialize;
use x811_client::http::LedgerInfo;
use x811_client::pay::{
    NonceUse, PayClient, PayError, Receipt, SignedTransfer, TokenDomain, Transfer,
};
use x811_client::transcript::Transcript;
use x811_client::wallet::WalletKey;
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::interaction::StateName;
use x811_protocol::time::TimestampMs;

use crate::failure::Failure;
use crate::send::case::Case;
use crate::send::payment::is_bound;

/// Less time than this is too little to pay in: the money would be gone and the PAYMENT late.
const LEAST_TIME_MS: u64 = 3_000;

/// Who pays what.
pub(super) struct Payer<'a> {
    pub(super) case: &'a Case<'a>,
    pub(super) endpoint: PayClient,
    pub(super) due: Transfer,
    /// The nonce of the interaction's authorization.
    pub(super) nonce: Digest,
    pub(super) info: LedgerInfo,
    /// How long the block is waited for.
    pub(super) wait_ms: u64,
}

/// A transfer that was made.
pub(super) struct Made {
    pub(super) origin: Origin,
    pub(super) tx_hash: TxHash,
    pub(super) payer: EvmAddress,
    pub(super) block_number: Option<u64>,
    pub(super) authorization_nonce: Option<Digest>,
    /// Why it is a plain transfer, where that was not asked for.
    pub(super) plain_because: Option<String>,
}

/// Where a transfer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Origin {
    /// Signed by this run.
    Signed,
    /// Signed by an earlier run and sent again.
    Kept,
    /// Signed by an earlier run, and now again with higher fees.
    Raised,
    /// Found on the chain: the nonce was used already.
    Found,
}

impl Payer<'_> {
    /// Makes sure that there is one transfer, and only one.
    pub(super) async fn pay(&self, plain_transfer: bool) -> Result<Made, Failure> {
        check_open(&self.case.transcript)?;
        if let Some(signed) = self.kept()? {
            return self.resume(signed).await;
        }
        if let Some(made) = self.found_undeclared().await {
            return Ok(made);
        }
        check_payable(&self.case.transcript, self.case.context.now())?;
        let key = self.wallet_key()?;
        if plain_transfer {
            return self.pay_plainly(key, None).await;
        }
        let domain = match self.endpoint.token_domain().await {
            Ok(domain) => domain,
            Err(error @ PayError::NoAuthorizations { .. }) => {
                return self.pay_plainly(key, Some(error.to_string())).await;
            }
            Err(error) => return Err(error.into()),
        };
        self.pay_authorized(key, &domain).await
    }

    /// Sends the transfer of an earlier run again, with higher fees where the network asks for more. One
    /// that can never pay is signed anew under the same nonce, of which the token takes one transfer.
    async fn resume(&self, kept: SignedTransfer) -> Result<Made, Failure> {
        let hint = |error| Failure::from(error).hint(format!("the file is {}", self.kept_at()));
        let mined = self.endpoint.mined(&kept).await?;
        if kept.authorization.is_some() && matches!(mined, Some((_, Receipt::Reverted { .. }))) {
            return match self.found_instead(&kept).await? {
                Some(made) => Ok(made),
                None => self.sign_anew(&kept).await,
            };
        }
        if let Some(made) = self.mined(&kept, Origin::Kept).await? {
            return Ok(made);
        }
        match self.endpoint.check_in_time(&kept).await {
            Err(PayError::Expired) => return self.sign_anew(&kept).await,
            checked => checked.map_err(hint)?,
        }
        let key = self.case.identity.wallet_key.as_ref();
        let raised = match key.filter(|key| key.address() == kept.payer) {
            Some(key) => self.endpoint.raise_fees(key, &kept).await.map_err(hint)?,
            None => None,
        };
        match raised {
            Some(raised) => self.replace_and_send(&raised, Origin::Raised).await,
            None => self.send(&kept, Origin::Kept, None).await,
        }
    }

    /// Signs a transfer in place of one that reverted or came too late.
    async fn sign_anew(&self, kept: &SignedTransfer) -> Result<Made, Failure> {
        let key = self.wallet_key()?;
        if key.address() != kept.payer {
            let message = format!(
                "the kept transfer is from {}, which is not the agent's wallet any more",
                kept.payer.to_checksum()
            );
            let hint = format!(
                "see on Base that it did not pay, then delete {}",
                self.kept_at()
            );
            return Err(Failure::local("other_wallet", message).hint(hint));
        }
        let domain = self.endpoint.token_domain().await?;
        let now = self.case.context.now();
        let signed = self
            .endpoint
            .sign_authorized(key, self.due, &domain, self.nonce, now);
        self.replace_and_send(&signed.await?, Origin::Signed).await
    }

    async fn replace_and_send(
        &self,
        signed: &SignedTransfer,
        origin: Origin,
    ) -> Result<Made, Failure> {
        let home = &self.case.context.home;
        home.replace_transfer(self.case.transcript.id(), &file(signed)?)?;
        self.send(signed, origin, None).await
    }

    /// What became of a declared transfer within that time; `None` when it is in no block yet, or the
    /// endpoint does not say.
    pub(super) async fn follow(&self, limit_ms: u64) -> Result<Option<Made>, Failure> {
        let Some(signed) = self.kept()? else {
            return Ok(None);
        };
        let clock = &*self.case.context.clock;
        let mined = self.endpoint.await_mined(&signed, clock, limit_ms).await;
        match mined {
            Ok(Some(_)) => self.mined(&signed, Origin::Kept).await,
            Ok(None) | Err(_) => Ok(None),
        }
    }

    /// The transfer as it is in a block: by one of its own transactions, or by somebody else's under
    /// the same authorization; `None` when it is in none.
    async fn mined(
        &self,
        signed: &SignedTransfer,
        origin: Origin,
    ) -> Result<Option<Made>, Failure> {
        match self.endpoint.mined(signed).await? {
            None => Ok(None),
            Some((tx_hash, Receipt::Succeeded { block_number })) => Ok(Some(Made {
                tx_hash,
                block_number: Some(block_number),
                ..Made::sent(signed, origin)
            })),
            Some((tx_hash, Receipt::Reverted { block_number })) => {
                let found = self.found_instead(signed).await?;
                let found = found.ok_or_else(|| moved_nothing(signed, tx_hash, block_number))?;
                Ok(Some(found))
            }
        }
    }

    /// A transfer under the interaction's nonce that no PAYMENT names, where there is one.
    async fn found_undeclared(&self) -> Option<Made> {
        let transcript = &self.case.transcript;
        let key = self.case.identity.wallet_key.as_ref();
        let key = key.filter(|_| transcript.has_payment())?;
        let found = self.found(key.address(), self.nonce).await.ok()??;
        (!transcript
            .declared()
            .any(|declared| declared == found.tx_hash))
        .then_some(found)
    }

    /// Makes a plain transfer, which counts from a bound wallet alone.
    async fn pay_plainly(&self, key: &WalletKey, why: Option<String>) -> Result<Made, Failure> {
        let wallet = key.address();
        if !is_bound(self.case, &self.info, wallet).await? {
            let message = format!(
                "nothing was paid: {} is no wallet bound to this agent, so a plain transfer from it does \
                 not count",
                wallet.to_checksum()
            );
            return Err(Failure::refused(Code::InvalidPaymentAddress, message)
                .hint("bind it with `x811 agent update`, or pay without --plain-transfer"));
        }
        let signed = self.endpoint.sign(key, self.due).await?;
        self.keep_and_send(&signed, why).await
    }

    async fn pay_authorized(&self, key: &WalletKey, domain: &TokenDomain) -> Result<Made, Failure> {
        if let Some(made) = self.found(key.address(), self.nonce).await? {
            return Ok(made);
        }
        let now = self.case.context.now();
        let signed = self
            .endpoint
            .sign_authorized(key, self.due, domain, self.nonce, now);
        self.keep_and_send(&signed.await?, None).await
    }

    /// The transfer that was made under the nonce, if there is one.
    async fn found(&self, payer: EvmAddress, nonce: Digest) -> Result<Option<Made>, Failure> {
        match self.endpoint.nonce_use(payer, nonce).await? {
            NonceUse::Unused => Ok(None),
            NonceUse::Used {
                tx_hash,
                block_number,
            } => Ok(Some(Made {
                origin: Origin::Found,
                tx_hash,
                payer,
                block_number: Some(block_number),
                authorization_nonce: Some(nonce),
                plain_because: None,
            })),
        }
    }

    async fn keep_and_send(
        &self,
        signed: &SignedTransfer,
        plain_because: Option<String>,
    ) -> Result<Made, Failure> {
        let home = &self.case.context.home;
        home.add_transfer(self.case.transcript.id(), &file(signed)?)?;
        self.send(signed, Origin::Signed, plain_because).await
    }

    /// Sends it. Whoever saw the authorization in it may have been quicker: then theirs pays.
    async fn send(
        &self,
        signed: &SignedTransfer,
        origin: Origin,
        plain_because: Option<String>,
    ) -> Result<Made, Failure> {
        if let Err(error) = self.endpoint.send(signed).await {
            if matches!(error, PayError::Replaced { .. }) {
                if let Some(made) = self.mined(signed, origin).await? {
                    return Ok(made);
                }
                if let Some(made) = self.found_instead(signed).await? {
                    return Ok(made);
                }
            }
            let hint = format!(
                "the signed transfer is kept in {}; run this again",
                self.kept_at()
            );
            return Err(Failure::from(error).hint(hint));
        }
        let clock = &*self.case.context.clock;
        let wait_ms = self.wait_ms;
        let _ = self.endpoint.await_mined(signed, clock, wait_ms).await?;
        let mined = self.mined(signed, origin).await?;
        Ok(Made {
            plain_because,
            ..mined.unwrap_or_else(|| Made::sent(signed, origin))
        })
    }

    async fn found_instead(&self, signed: &SignedTransfer) -> Result<Option<Made>, Failure> {
        match signed.authorization {
            None => Ok(None),
            Some(authorization) => self.found(signed.payer, authorization.nonce).await,
        }
    }

    /// The transfer signed for this interaction before, if there is one.
    fn kept(&self) -> Result<Option<SignedTransfer>, Failure> {
        let home = &self.case.context.home;
        let Some(bytes) = home.transfer(self.case.transcript.id())? else {
            return Ok(None);
        };
        let unusable = |cause: &str| {
            Failure::local("damaged_transfer", format!("{}: {cause}", self.kept_at()))
                .hint("see on Base whether it paid, then delete the file")
        };
        let kept: SignedTransfer =
            serde_json::from_slice(&bytes).map_err(|_| unusable("it is no transfer"))?;
        if kept.transfer == self.due {
            Ok(Some(kept))
        } else {
            Err(unusable("it pays something else"))
        }
    }

    fn kept_at(&self) -> String {
        let id = self.case.transcript.id();
        let path = self.case.context.home.transfer_path(id);
        path.display().to_string()
    }

    fn wallet_key(&self) -> Result<&WalletKey, Failure> {
        self.case.identity.wallet_key.as_ref().ok_or_else(|| {
            Failure::local("no_wallet", "the agent has no wallet key")
                .hint("pay by other means, then name the transaction with `x811 send payment`")
        })
    }
}

impl Made {
    /// A transfer that was sent and is in no block yet.
    fn sent(signed: &SignedTransfer, origin: Origin) -> Made {
        Made {
            origin,
            tx_hash: signed.tx_hash,
            payer: signed.payer,
            block_number: None,
            authorization_nonce: signed.authorization.map(|it| it.nonce),
            plain_because: None,
        }
    }
}

fn file(signed: &SignedTransfer) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec_pretty(signed).map_err(|error| Failure::internal(&error.to_string()))
}

fn moved_nothing(signed: &SignedTransfer, tx_hash: TxHash, block_number: u64) -> Failure {
    let payee = signed.transfer.payee.to_checksum();
    let message = format!("{tx_hash} is in block {block_number} but moved nothing to {payee}");
    Failure::refused(Code::PaymentFailed, message)
}

/// Whether the interaction goes on. What was signed before is not sent again either: nobody would
/// count it.
fn check_open(transcript: &Transcript) -> Result<(), Failure> {
    let id = transcript.id();
    let (ended, command) = match transcript.view.state {
        StateName::Completed => ("is completed: it was paid before", "provider paid"),
        StateName::Disputed if transcript.has_payment() => (
            "is disputed: its payment was not confirmed in time",
            "provider paid",
        ),
        StateName::Disputed => ("is disputed", "history"),
        StateName::Expired => ("expired: a window passed before delivery", "history"),
        StateName::Rejected => ("ended when its OFFER was rejected", "history"),
        StateName::Failed => (
            "failed: the time for the VERIFY passed without one",
            "history",
        ),
        StateName::Pending
        | StateName::Offered
        | StateName::Accepted
        | StateName::Delivered
        | StateName::Verified => return Ok(()),
    };
    let message = format!("nothing was paid now: the interaction {ended}");
    let hint = format!("see how it ended: x811 {command} {id}");
    Err(Failure::state(message).hint(hint))
}

/// Whether paying now does any good.
fn check_payable(transcript: &Transcript, now: TimestampMs) -> Result<(), Failure> {
    let (state, id) = (transcript.view.state, transcript.id());
    if state != StateName::Verified {
        let message = format!("nothing was paid: the interaction is {state}, not verified");
        let hint = if state == StateName::Delivered {
            format!("say first that the result is good: x811 send verify {id}")
        } else {
            "wait for the RESULT: x811 inbox --wait 60".to_owned()
        };
        return Err(Failure::state(message).hint(hint));
    }
    if transcript.has_payment() {
        let message = "nothing was paid: a PAYMENT has been sent already";
        let hint = format!(
            "see what came of it: x811 provider paid {}",
            transcript.id()
        );
        return Err(Failure::state(message).hint(hint));
    }
    let deadline = transcript.view.deadline_at_ms;
    if deadline.is_some_and(|deadline| deadline.since(now) < LEAST_TIME_MS) {
        let message = "nothing was paid: the time for the PAYMENT is over";
        return Err(Failure::refused(Code::PaymentTimeout, message));
    }
    Ok(())
}
