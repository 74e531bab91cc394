use super::*;

fn n(text: &str) -> Numeric {
    Numeric::parse(text).unwrap()
}

#[test]
fn results_have_the_scale_that_postgresql_gives_them() {
    let show = |value: Result<Numeric>| value.unwrap().to_string();
    assert_eq!(show(n("5").div(&n("3"))), "1.6666666666666667");
    assert_eq!(show(n("1e-20").div(&n("3"))), "0.0000000000000000000033333333333333333333");
    assert_eq!(show(n("7.5").rem(&n("2.25"))), "0.75");
    assert_eq!(show(n("1.10").mul(&n("2.200"))), "2.42000");
    assert_eq!(show(n("2").power(&n("0.5"))), "1.4142135623730950");
    assert_eq!(show(n("2").power(&n("-3"))), "0.1250000000000000");
    assert_eq!(show(n("1").exp()), "2.7182818284590452");
    assert_eq!(show(n("2").ln()), "0.6931471805599453");
    assert_eq!(show(n("2").sqrt()), "1.414213562373095");
    assert_eq!(show(n("0.00000123").sqrt()), "0.0011090536506409417");
    assert_eq!(show(Numeric::log(&n("2.0"), &n("64.0"))), "6.0000000000000000");
    assert_eq!(show(n("-2.5").round(0)), "-3");
    assert_eq!(show(n("-2.5").floor()), "-3");
    assert_eq!(show(n("-2.5").ceil()), "-2");
    assert_eq!(show(n("12345.678").round(-2)), "12300");
    assert_eq!(show(n("12.5").gcd(&n("7.5"))), "2.5");
    assert_eq!(show(Numeric::factorial(20)), "2432902008176640000");
}

#[test]
fn division_of_long_numbers_is_exact() {
    let a = n("98765432109876543210987654321098765432109876543210");
    let b = n("1234567890123456789012345");
    let quotient = a.div_trunc(&b).unwrap();
    let rest = a.rem(&b).unwrap();
    assert!(rest < b);
    assert_eq!(quotient.mul(&b).unwrap().add(&rest).unwrap(), a);
}

#[test]
fn typmods_round_and_refuse() {
    let typmod = TypeMod::for_numeric(5, 2);
    assert_eq!(n("123.456").apply_typmod(typmod).unwrap().to_string(), "123.46");
    let error = n("999.995").apply_typmod(typmod).unwrap_err();
    assert_eq!(error.message(), "numeric field overflow");
    assert_eq!(
        error.fields().detail.as_deref().unwrap(),
        "A field with precision 5, scale 2 must round to an absolute value less than 10^3."
    );
    let typmod = TypeMod::for_numeric(2, -3);
    assert_eq!(n("12345").apply_typmod(typmod).unwrap().to_string(), "12000");
}
