//! Arguments given by name: `make_interval(days => 10)`.

use syntax::ast::FuncCall;

use crate::error::{Result, sql_error};
use crate::func::{self, Function};
use crate::types::{TypeId, type_name};

use super::func::{Candidate, Unclear, default_value, not_unique, pick, undefined};
use super::tree::Expr;
use super::{Binder, at};

/// What is given in a call, in its order: first those by place.
struct Given<'c> {
    by_place: usize,
    names: Vec<&'c str>,
    types: Vec<TypeId>,
}

impl Binder<'_, '_> {
    /// A call with names. What is left out takes its default.
    pub(super) fn named_call(&mut self, call: &FuncCall, at_home: bool) -> Result<Expr> {
        let names = names(call)?;
        let by_place = call.args.len() - names.len();
        let mut args = Vec::with_capacity(call.args.len());
        for (i, arg) in call.args.iter().enumerate() {
            let value = self.expr(&arg.value)?;
            if arg.name.is_none() && i >= by_place {
                let error =
                    sql_error!(SYNTAX_ERROR, "positional argument cannot follow named argument");
                return Err(at(error, value.loc()));
            }
            args.push(value);
        }
        let types = args.iter().map(Expr::type_id).collect();
        let given = Given { by_place, names, types };
        let name = call.name.last();
        let known = func::functions(name).filter(|_| at_home);
        let candidates = known.filter_map(|func| candidate(func, &given));
        match pick(candidates.collect(), &given.types) {
            Ok(Some(found)) => {
                self.check_plain(call)?;
                let args = in_places(found.func, &given, args);
                let args_of = found.func.args.to_vec();
                self.scalar(call, Candidate { func: found.func, args: args_of, spread: None }, args)
            }
            Ok(None) => Err(undefined(&call.name.parts.join("."), &given.shown(), call.loc)),
            Err(Unclear) => Err(not_unique(name, &given.shown(), call.loc)),
        }
    }
}

impl Given<'_> {
    /// As messages have it.
    fn shown(&self) -> String {
        let (placed, named) = self.types.split_at(self.by_place);
        let placed = placed.iter().map(|id| type_name(*id));
        let named = self.names.iter().zip(named);
        let named = named.map(|(name, id)| format!("{name} => {}", type_name(*id)));
        placed.chain(named).collect::<Vec<_>>().join(", ")
    }

    /// Which of the given ones a function's argument is.
    fn of_place(&self, func: &Function, place: usize) -> Option<usize> {
        if place < self.by_place {
            return Some(place);
        }
        let name = func.arg_names.get(place)?;
        let found = self.names.iter().position(|given| *given == *name)?;
        Some(self.by_place + found)
    }
}

/// The names, each once.
fn names(call: &FuncCall) -> Result<Vec<&str>> {
    let mut names: Vec<&str> = Vec::new();
    for arg in &call.args {
        match &arg.name {
            Some(name) if names.contains(&&**name) => {
                let error =
                    sql_error!(SYNTAX_ERROR, "argument name \"{name}\" used more than once");
                return Err(at(error, arg.loc));
            }
            Some(name) => names.push(name),
            None => {}
        }
    }
    Ok(names)
}

/// The function as it would be called: the types that it wants of the given arguments. `None`: it has not these names, or no
/// default for what is left out.
fn candidate(func: &'static Function, given: &Given) -> Option<Candidate<Function>> {
    if func.variadic || func.args.len() < given.types.len() {
        return None;
    }
    let mut args = vec![TypeId::UNKNOWN; given.types.len()];
    let mut found = 0;
    for (place, id) in func.args.iter().enumerate() {
        match given.of_place(func, place) {
            Some(index) => {
                args[index] = *id;
                found += 1;
            }
            None if place + func.defaults.len() >= func.args.len() => {}
            None => return None,
        }
    }
    (found == given.types.len()).then_some(Candidate { func, args, spread: None })
}

/// The arguments in the function's order, with defaults for those left out.
fn in_places(func: &Function, given: &Given, args: Vec<Expr>) -> Vec<Expr> {
    let mut args: Vec<Option<Expr>> = args.into_iter().map(Some).collect();
    let without_default = func.args.len() - func.defaults.len();
    let all = (0..func.args.len()).map(|place| match given.of_place(func, place) {
        Some(index) => args[index].take().expect("names differ"),
        None => default_value(func, place - without_default),
    });
    all.collect()
}
