//! The data model of serde, as a leaf writes it.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::{Compound, Refused, Why, Writer, write_string};

impl<'w, 'a> Serializer for &'w mut Writer<'a> {
    type Ok = ();
    type Error = Refused;
    type SerializeSeq = Compound<'w, 'a>;
    type SerializeTuple = Compound<'w, 'a>;
    type SerializeTupleStruct = Compound<'w, 'a>;
    type SerializeTupleVariant = Compound<'w, 'a>;
    type SerializeMap = Map<'w, 'a>;
    type SerializeStruct = Compound<'w, 'a>;
    type SerializeStructVariant = Compound<'w, 'a>;

    fn serialize_bool(self, value: bool) -> Result<(), Refused> {
        let word: &[u8] = if value { b"true" } else { b"false" };
        self.out.extend_from_slice(word);
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), Refused> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), Refused> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Refused> {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<(), Refused> {
        let number = u64::try_from(value).map_err(|_| Refused::new(Why::NotAnInteger))?;
        self.integer(number)
    }

    fn serialize_u8(self, value: u8) -> Result<(), Refused> {
        self.integer(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Refused> {
        self.integer(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Refused> {
        self.integer(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Refused> {
        self.integer(value)
    }

    fn serialize_f32(self, _value: f32) -> Result<(), Refused> {
        Err(Refused::new(Why::NotAnInteger))
    }

    fn serialize_f64(self, _value: f64) -> Result<(), Refused> {
        Err(Refused::new(Why::NotAnInteger))
    }

    fn serialize_char(self, value: char) -> Result<(), Refused> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Refused> {
        write_string(self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Refused> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<(), Refused> {
        self.null()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Refused> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Refused> {
        self.null()
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Refused> {
        self.null()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Refused> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), Refused> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Refused> {
        let mut object = Compound::open(self, b'{')?;
        object.member(variant, value)?;
        object.close_object()
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Compound<'w, 'a>, Refused> {
        Compound::open(self, b'[')
    }

    fn serialize_tuple(self, _length: usize) -> Result<Compound<'w, 'a>, Refused> {
        Compound::open(self, b'[')
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Compound<'w, 'a>, Refused> {
        Compound::open(self, b'[')
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Compound<'w, 'a>, Refused> {
        Compound::open_variant(self, variant, b'[')
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Map<'w, 'a>, Refused> {
        Ok(Map {
            object: Compound::open(self, b'{')?,
            key_start: 0,
        })
    }

    fn serialize_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Compound<'w, 'a>, Refused> {
        Compound::open(self, b'{')
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Compound<'w, 'a>, Refused> {
        Compound::open_variant(self, variant, b'{')
    }
}

/// Arrays of every kind, by the method that takes an item.
macro_rules! arrays {
    ($($kind:ident by $take:ident,)+) => {$(
        impl $kind for Compound<'_, '_> {
            type Ok = ();
            type Error = Refused;

            fn $take<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
                self.item(value)
            }

            fn end(self) -> Result<(), Refused> {
                self.close_array()
            }
        }
    )+};
}

arrays! {
    SerializeSeq by serialize_element,
    SerializeTuple by serialize_element,
    SerializeTupleStruct by serialize_field,
    SerializeTupleVariant by serialize_field,
}

/// Objects whose keys are known.
macro_rules! objects {
    ($($kind:ident,)+) => {$(
        impl $kind for Compound<'_, '_> {
            type Ok = ();
            type Error = Refused;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Refused> {
                self.member(key, value)
            }

            fn end(self) -> Result<(), Refused> {
                self.close_object()
            }
        }
    )+};
}

objects! {
    SerializeStruct,
    SerializeStructVariant,
}

/// A map that is open: its keys come as values.
pub(in crate::record) struct Map<'w, 'a> {
    object: Compound<'w, 'a>,
    /// Where the key begins whose value is due.
    key_start: usize,
}

impl Map<'_, '_> {
    /// The key that begins at `start` and is written, for a message.
    fn written_key(&self, start: usize, end: usize) -> String {
        let written = &self.object.writer.out[start..end];
        serde_json::from_slice(written).unwrap_or_default()
    }
}

impl SerializeMap for Map<'_, '_> {
    type Ok = ();
    type Error = Refused;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refused> {
        let start = self.object.begin_member();
        key.serialize(&mut *self.object.writer)?;
        if self.object.writer.out.get(start) != Some(&b'"') {
            return Err(serde::ser::Error::custom("a key is not a string"));
        }
        self.key_start = start;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        let (start, end) = (self.key_start, self.object.writer.out.len());
        self.object
            .value_of(start, value)
            .map_err(|refused| refused.inside_member(&self.written_key(start, end)))
    }

    fn end(self) -> Result<(), Refused> {
        self.object.close_object()
    }
}
