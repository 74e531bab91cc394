mod hostile;
mod recorded;
mod round_trip;

use crate::{Error, backend, frame, frontend};

/// Decodes everything in `bytes` as a client's messages.
fn requests(mut bytes: &[u8]) -> Result<Vec<frontend::Message<'_>>, Error> {
    let mut messages = Vec::new();
    while let frame::Split::Frame(frame) = frame::split(bytes)? {
        messages.push(frontend::Message::decode(frame)?);
        bytes = &bytes[frame.size()..];
    }
    assert!(bytes.is_empty(), "{} bytes left over", bytes.len());
    Ok(messages)
}

/// Decodes everything in `bytes` as a server's messages.
fn replies(mut bytes: &[u8]) -> Result<Vec<backend::Message<'_>>, Error> {
    let mut messages = Vec::new();
    while let frame::Split::Frame(frame) = frame::split_reply(bytes)? {
        messages.push(backend::Message::decode(frame)?);
        bytes = &bytes[frame.size()..];
    }
    assert!(bytes.is_empty(), "{} bytes left over", bytes.len());
    Ok(messages)
}

/// Writes a decoded message again, as the server that sent it would.
fn encode_again(out: &mut backend::Replies, message: &backend::Message<'_>) {
    use backend::{Authentication, Message};
    match *message {
        Message::Authentication(request) => match request {
            Authentication::Ok => out.authentication_ok(),
            Authentication::CleartextPassword => out.authentication_cleartext_password(),
            Authentication::Md5Password(salt) => out.authentication_md5_password(salt),
            Authentication::Sasl(mechanisms) => out.authentication_sasl(mechanisms.iter()),
            Authentication::SaslContinue(data) => out.authentication_sasl_continue(data),
            Authentication::SaslFinal(data) => out.authentication_sasl_final(data),
            Authentication::Other(code) => panic!("we never send authentication request {code}"),
        },
        Message::BackendKeyData { process, key } => out.backend_key_data(process, key),
        Message::BindComplete => out.bind_complete(),
        Message::CloseComplete => out.close_complete(),
        Message::CommandComplete(tag) => encode_tag(out, tag),
        Message::CopyData(data) => {
            out.copy_data(|buf| buf.extend_from_slice(data)).unwrap();
        }
        Message::CopyDone => out.copy_done(),
        Message::CopyInResponse(f) => out.copy_in(f.overall, f.columns.count().into()),
        Message::CopyOutResponse(f) => out.copy_out(f.overall, f.columns.count().into()),
        Message::CopyBothResponse(f) => out.copy_both(f.overall, f.columns.count().into()),
        Message::DataRow(values) => {
            let mut row = out.data_row();
            for value in values.iter() {
                match value {
                    Some(bytes) => row.value(bytes),
                    None => row.null(),
                }
            }
            row.finish().unwrap();
        }
        Message::EmptyQueryResponse => out.empty_query(),
        Message::ErrorResponse(fields) | Message::NoticeResponse(fields) => {
            out.report(&report_of(&fields));
        }
        Message::FunctionCallResponse(value) => out.function_call(value),
        Message::NegotiateProtocolVersion { version, options } => {
            out.negotiate_protocol_version(version, options.iter());
        }
        Message::NoData => out.no_data(),
        Message::NotificationResponse { process, channel, payload } => {
            out.notification(process, channel, payload);
        }
        Message::ParameterDescription(types) => {
            out.parameter_description(&types.iter().collect::<Vec<_>>());
        }
        Message::ParameterStatus { name, value } => out.parameter_status(name, value),
        Message::ParseComplete => out.parse_complete(),
        Message::PortalSuspended => out.portal_suspended(),
        Message::ReadyForQuery(status) => out.ready_for_query(status),
        Message::RowDescription(fields) => out.row_description(fields.iter()),
    }
}

/// Writes a tag by the form its words suggest, so that every form is used.
fn encode_tag(out: &mut backend::Replies, tag: &str) {
    use backend::Tag;
    let counted = tag.rsplit_once(' ').and_then(|(name, n)| Some((name, n.parse().ok()?)));
    out.command_complete(match counted {
        Some(("INSERT 0", rows)) => Tag::Insert(rows),
        Some((name, rows)) => Tag::Rows(name, rows),
        None => Tag::Done(tag),
    });
}

fn report_of<'a>(fields: &backend::ReportFields<'a>) -> backend::Report<'a> {
    use backend::Severity::*;
    let severity = [Debug, Info, Log, Notice, Warning, Error, Fatal, Panic]
        .into_iter()
        .find(|s| Some(s.name()) == fields.get(b'V'))
        .unwrap();
    let number = |letter| fields.get(letter).map(|n| n.parse().unwrap());
    backend::Report {
        severity,
        sqlstate: fields.sqlstate(),
        message: fields.message(),
        detail: fields.get(b'D'),
        hint: fields.get(b'H'),
        context: fields.get(b'W'),
        position: number(b'P'),
        internal_position: number(b'p'),
        internal_query: fields.get(b'q'),
        schema: fields.get(b's'),
        table: fields.get(b't'),
        column: fields.get(b'c'),
        data_type: fields.get(b'd'),
        constraint: fields.get(b'n'),
        file: fields.get(b'F'),
        line: number(b'L'),
        routine: fields.get(b'R'),
    }
}
