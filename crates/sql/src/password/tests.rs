use super::exchange::{BINDING, Exchange, PLAIN, Refusal};
use super::verifier::{Verifier, keyed, sum};
use super::{is_md5, stored};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The example of RFC 7677.
fn example() -> (Verifier, &'static str) {
    let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
    (Verifier::of("pencil", &salt, 4096), "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
}

const FIRST: &[u8] = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
const LAST: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

fn begun(end_point: Option<&[u8]>) -> Exchange {
    let (verifier, nonce) = example();
    Exchange::with_nonce(Some(verifier), [0; 32], end_point.map(<[u8]>::to_vec), nonce.to_owned())
}

#[test]
fn the_example_of_the_standard_is_answered_as_it_says() {
    let mut exchange = begun(None);
    assert_eq!(exchange.mechanisms(), ["SCRAM-SHA-256"]);
    assert_eq!(
        exchange.first(PLAIN, FIRST).unwrap(),
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    );
    let answer = exchange.last(LAST.as_bytes()).unwrap();
    assert_eq!(answer, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
}

#[test]
fn who_does_not_know_the_password_is_refused() {
    let mut exchange = begun(None);
    exchange.first(PLAIN, FIRST).unwrap();
    let wrong = LAST.replace("p=dHzb", "p=dHzc");
    assert_eq!(exchange.last(wrong.as_bytes()), Err(Refusal::Password));
    // Who has no password gets a salt like others, the same each time.
    let answers = [(); 2].map(|()| {
        let mut none = Exchange::with_nonce(None, [7; 32], None, example().1.to_owned());
        let answer = none.first(PLAIN, FIRST).unwrap();
        assert_eq!(none.last(LAST.as_bytes()), Err(Refusal::Password));
        // Nor does it help to know what the made-up verifier is made of.
        let unproved = &LAST[..LAST.find(",p=").unwrap()];
        let signed = format!("{},{answer},{unproved}", "n=user,r=rOprNGfwEbeRWgbNEkqO");
        let proof = STANDARD.encode(keyed(&[0; 32], &[signed.as_bytes()]));
        let proved = format!("{unproved},p={proof}");
        assert_eq!(none.last(proved.as_bytes()), Err(Refusal::Password));
        answer
    });
    assert_eq!(answers[0], answers[1]);
}

/// A client's last message for this exchange, with these bytes to be bound.
fn proved(bare: &str, answer: &str, bound: &[u8]) -> String {
    let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
    let mut last = keyed(b"pencil", &[&salt, &[0, 0, 0, 1]]);
    let mut salted = last;
    for _ in 1..4096 {
        last = keyed(b"pencil", &[&last]);
        salted.iter_mut().zip(last).for_each(|(all, last)| *all ^= last);
    }
    let mut key = keyed(&salted, &[b"Client Key"]);
    let nonce = answer.split(',').next().unwrap();
    let unproved = format!("c={},{nonce}", STANDARD.encode(bound));
    let signature = keyed(&sum(&key), &[format!("{bare},{answer},{unproved}").as_bytes()]);
    key.iter_mut().zip(signature).for_each(|(key, signature)| *key ^= signature);
    format!("{unproved},p={}", STANDARD.encode(key))
}

#[test]
fn a_proof_is_bound_to_the_encryption_that_it_came_through() {
    let bare = "n=,r=abc";
    let header = "p=tls-server-end-point,,";
    let mut exchange = begun(Some(b"certificate"));
    assert_eq!(exchange.mechanisms(), ["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"]);
    let answer = exchange.first(BINDING, format!("{header}{bare}").as_bytes()).unwrap();
    let bound = |certificate: &str| {
        let bound = format!("{header}{certificate}");
        exchange.last(proved(bare, &answer, bound.as_bytes()).as_bytes())
    };
    assert!(bound("certificate").unwrap().starts_with("v="));
    assert_eq!(bound("other one"), Err(Refusal::Unbound));
    // Who says that the server can't bind has been told so by somebody else.
    let refused = begun(Some(b"certificate")).first(PLAIN, b"y,,n=,r=abc");
    assert!(matches!(refused, Err(Refusal::Binding(_))));
    // Without encryption that is what it has to say; and who does not want to bind need not.
    let mut plain = begun(None);
    let answer = plain.first(PLAIN, b"y,,n=,r=abc").unwrap();
    assert!(plain.last(proved(bare, &answer, b"y,,").as_bytes()).is_ok());
    let mut unbound = begun(Some(b"certificate"));
    let answer = unbound.first(PLAIN, b"n,,n=,r=abc").unwrap();
    assert!(unbound.last(proved(bare, &answer, b"n,,").as_bytes()).is_ok());
}

#[test]
fn messages_that_are_none_are_told() {
    let malformed = |mechanism, message: &[u8]| {
        let refused = begun(Some(b"certificate")).first(mechanism, message);
        assert!(matches!(refused, Err(Refusal::Malformed(_))), "{message:?}: {refused:?}");
    };
    let messages: [&[u8]; 13] = [
        b"",
        b"n",
        b"n,",
        b"n,,",
        b"x,,n=,r=abc",
        b"n,a=other,n=,r=abc",
        b"n,,m=new,n=,r=abc",
        b"n,,r=abc",
        b"n,,n=",
        b"n,,n=,r=",
        b"n,,n=,r=a\xffc",
        b"n,,n=,r=a c",
        b"p=tls-server-end-point,,n=,r=abc",
    ];
    messages.iter().for_each(|message| malformed(PLAIN, message));
    malformed(BINDING, b"n,,n=,r=abc");
    malformed(BINDING, b"y,,n=,r=abc");
    malformed(BINDING, b"p=tls-unique,,n=,r=abc");
    let mut exchange = begun(None);
    assert!(!exchange.has_begun());
    assert!(matches!(exchange.last(LAST.as_bytes()), Err(Refusal::Malformed(_))));
    exchange.first(PLAIN, FIRST).unwrap();
    assert!(exchange.has_begun());
    for message in ["", "c=biws", "c=biws,r=x,p=", "r=x,c=biws,p=", &LAST[..LAST.len() - 4]] {
        let refused = exchange.last(message.as_bytes());
        assert!(matches!(refused, Err(Refusal::Malformed(_))), "{message}: {refused:?}");
    }
}

#[test]
fn verifiers_are_spelled_as_in_postgresql() {
    // The standard's example, in PostgreSQL's spelling.
    let kept = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
                wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";
    let (verifier, _) = example();
    assert_eq!(verifier.to_string(), kept);
    assert_eq!(Verifier::parse(kept), Some(verifier));
    for wrong in
        ["", "SCRAM-SHA-256", &kept[1..], &kept[..kept.len() - 1], &kept.replace("4096", "0")]
    {
        assert_eq!(Verifier::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn what_is_a_verifier_already_is_kept_as_it_is() {
    let (verifier, _) = example();
    let kept = verifier.to_string();
    assert_eq!(stored(&kept).unwrap().unwrap(), kept);
    let md5 = "md5d97d5a9bb0aaed1ae4b93c6f4ae5c2fd";
    assert!(
        is_md5(md5)
            && !is_md5("md5d97d5a9bb0aaed1ae4b93c6f4ae5c2f")
            && !is_md5(&md5.to_uppercase())
    );
    assert_eq!(stored(md5).unwrap().unwrap(), md5);
    assert_eq!(stored("").unwrap(), None);
    let [one, other] = [(); 2].map(|()| stored("pencil").unwrap().unwrap());
    assert_ne!(one, other, "each has a salt of its own");
    let read = Verifier::parse(&one).unwrap();
    assert_eq!(Verifier::of("pencil", &read.salt, read.iterations), read);
    // What nothing is left of counts as it is.
    assert_ne!(Verifier::of("\u{ad}", b"salt", 1), Verifier::of("", b"salt", 1));
    // A password's characters count by their meaning: these are a soft hyphen, and a Roman numeral.
    assert_eq!(Verifier::of("I\u{ad}X", b"salt", 1), Verifier::of("\u{2168}", b"salt", 1));
}
