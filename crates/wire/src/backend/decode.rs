//! Decoding what a server sends: for tests, benchmark clients and the laboratory.

use super::{Authentication, CopyFormats, FieldList, Message, ReportFields, Status};
use crate::error::Error;
use crate::frame::Frame;
use crate::lists::{Format, Formats, Oids, Strings, Values};
use crate::read::Reader;

impl<'a> Message<'a> {
    /// Decodes a whole message.
    ///
    /// # Errors
    /// [`Error::BadReply`] for a message no server sends, otherwise what is wrong with its body.
    pub fn decode(frame: Frame<'a>) -> Result<Self, Error> {
        let mut reader = Reader::new(frame.body);
        let message = match frame.tag {
            b'R' => Message::Authentication(Authentication::read(&mut reader)?),
            b'K' => Message::BackendKeyData { process: reader.i32()?, key: reader.u32()? },
            b'1' => Message::ParseComplete,
            b'2' => Message::BindComplete,
            b'3' => Message::CloseComplete,
            b'C' => Message::CommandComplete(reader.string()?),
            b'd' => return Ok(Message::CopyData(frame.body)),
            b'c' => Message::CopyDone,
            b'G' => Message::CopyInResponse(CopyFormats::read(&mut reader)?),
            b'H' => Message::CopyOutResponse(CopyFormats::read(&mut reader)?),
            b'W' => Message::CopyBothResponse(CopyFormats::read(&mut reader)?),
            b'D' => Message::DataRow(Values::read(&mut reader)?),
            b'I' => Message::EmptyQueryResponse,
            b'E' => Message::ErrorResponse(ReportFields::read(&mut reader)?),
            b'N' => Message::NoticeResponse(ReportFields::read(&mut reader)?),
            b'V' => Message::FunctionCallResponse(reader.value()?),
            b'v' => {
                let version = reader.u32()?;
                let count = reader.u32()? as usize;
                Message::NegotiateProtocolVersion {
                    version,
                    options: Strings::read_count(&mut reader, count)?,
                }
            }
            b'n' => Message::NoData,
            b'A' => Message::NotificationResponse {
                process: reader.i32()?,
                channel: reader.string()?,
                payload: reader.string()?,
            },
            b't' => Message::ParameterDescription(Oids::read(&mut reader)?),
            b'S' => Message::ParameterStatus { name: reader.string()?, value: reader.string()? },
            b's' => Message::PortalSuspended,
            b'Z' => Message::ReadyForQuery(match reader.byte()? {
                b'I' => Status::Idle,
                b'T' => Status::InTransaction,
                b'E' => Status::Failed,
                _ => return Err(Error::BadReply(b'Z')),
            }),
            b'T' => Message::RowDescription(FieldList::read(&mut reader)?),
            other => return Err(Error::BadReply(other)),
        };
        reader.end()?;
        Ok(message)
    }
}

impl<'a> Authentication<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        match reader.u32()? {
            0 => Ok(Authentication::Ok),
            3 => Ok(Authentication::CleartextPassword),
            5 => Ok(Authentication::Md5Password(reader.u32()?.to_be_bytes())),
            10 => Strings::read_to_empty(reader).map(Authentication::Sasl),
            11 => Ok(Authentication::SaslContinue(reader.remainder())),
            12 => Ok(Authentication::SaslFinal(reader.remainder())),
            other => {
                reader.remainder();
                Ok(Authentication::Other(other))
            }
        }
    }
}

impl<'a> CopyFormats<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let overall = Format::from_code(i16::from(reader.byte()?))?;
        Ok(CopyFormats { overall, columns: Formats::read(reader)? })
    }
}
