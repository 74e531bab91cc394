//! Decoding what a client sends.

use super::{Authentication, Bind, Execute, FunctionCall, Message, Parse, SaslInitial, Target};
use crate::error::Error;
use crate::frame::Frame;
use crate::lists::{Format, Formats, Oids, Values};
use crate::read::Reader;

impl<'a> Message<'a> {
    /// Decodes a whole message.
    ///
    /// # Errors
    /// An [`Error`] that is not fatal, unless the frame came from elsewhere than
    /// [`crate::frame::split`]: the stream is still in step, and only this message is lost.
    #[inline]
    pub fn decode(frame: Frame<'a>) -> Result<Self, Error> {
        let mut reader = Reader::new(frame.body);
        let message = match frame.tag {
            b'B' => Message::Bind(Bind::read(&mut reader)?),
            b'E' => Message::Execute(Execute {
                portal: reader.string()?,
                // Zero and everything below it mean "all", as in PostgreSQL.
                rows_max: reader.i32()?.max(0) as u32,
            }),
            b'S' => Message::Sync,
            b'Q' => Message::Query(reader.string()?),
            b'P' => Message::Parse(Parse {
                name: reader.string()?,
                query: reader.string()?,
                types: Oids::read(&mut reader)?,
            }),
            b'D' => Message::Describe(Target::read(&mut reader, Error::DescribeTarget)?),
            b'C' => Message::Close(Target::read(&mut reader, Error::CloseTarget)?),
            b'H' => Message::Flush,
            b'd' => return Ok(Message::CopyData(frame.body)),
            b'c' => Message::CopyDone,
            b'f' => Message::CopyFail(reader.string()?),
            b'F' => Message::FunctionCall(FunctionCall::read(&mut reader)?),
            b'p' => return Ok(Message::Authentication(Authentication { body: frame.body })),
            // PostgreSQL leaves at once, whatever else the message says.
            b'X' => return Ok(Message::Terminate),
            other => return Err(Error::UnknownMessageType(other)),
        };
        reader.end()?;
        Ok(message)
    }
}

impl<'a> Bind<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let portal = reader.string()?;
        let statement = reader.string()?;
        let parameter_formats = Formats::read(reader)?;
        let parameters = Values::read(reader)?;
        if !parameter_formats.fit(parameters.count()) {
            return Err(Error::ParameterFormats {
                formats: parameter_formats.count(),
                parameters: parameters.count(),
            });
        }
        let result_formats = Formats::read(reader)?;
        Ok(Bind { portal, statement, parameter_formats, parameters, result_formats })
    }
}

impl<'a> Target<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>, wrong: fn(u8) -> Error) -> Result<Self, Error> {
        let kind = reader.byte()?;
        let name = reader.string()?;
        match kind {
            b'S' => Ok(Target::Statement(name)),
            b'P' => Ok(Target::Portal(name)),
            other => Err(wrong(other)),
        }
    }
}

impl<'a> FunctionCall<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let function = reader.u32()?;
        let argument_formats = Formats::read(reader)?;
        let arguments = Values::read(reader)?;
        if !argument_formats.fit(arguments.count()) {
            return Err(Error::ArgumentFormats {
                formats: argument_formats.count(),
                arguments: arguments.count(),
            });
        }
        Format::from_code(reader.i16()?)?;
        Ok(FunctionCall { function, argument_formats, arguments })
    }
}

impl<'a> Authentication<'a> {
    /// The answer to a request for a password.
    ///
    /// # Errors
    /// As for every string.
    pub fn password(&self) -> Result<&'a str, Error> {
        let mut reader = Reader::new(self.body);
        let password = reader.string()?;
        reader.end()?;
        Ok(password)
    }

    /// The first answer of a SASL exchange.
    ///
    /// # Errors
    /// As for every message.
    pub fn sasl_initial(&self) -> Result<SaslInitial<'a>, Error> {
        let mut reader = Reader::new(self.body);
        let initial = SaslInitial { mechanism: reader.string()?, response: reader.value()? };
        reader.end()?;
        Ok(initial)
    }

    /// A later answer of a SASL exchange.
    pub fn sasl_response(&self) -> &'a [u8] {
        self.body
    }
}
