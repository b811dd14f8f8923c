//! No answer has a null where a member may be absent, and any may have members that are not described yet. The
//! macros say otherwise of options, and of types that refuse unknown members where they are read.

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, Object, Schema, SchemaType, Type};

/// Says so in a schema, and in all that are part of it.
pub(super) fn settle(schema: &mut RefOr<Schema>) {
    if let RefOr::T(Schema::Object(object)) = schema {
        settle_object(object);
    } else if let RefOr::T(Schema::OneOf(one)) = schema {
        one.items.iter_mut().for_each(settle);
    } else if let RefOr::T(Schema::AllOf(all)) = schema {
        all.items.iter_mut().for_each(settle);
    }
}

fn settle_object(object: &mut Object) {
    if let Some(AdditionalProperties::FreeForm(false)) = object.additional_properties.as_deref() {
        object.additional_properties = None;
    }
    for (name, member) in &mut object.properties {
        settle(member);
        if !object.required.contains(name) {
            never_null(member);
        }
    }
}

fn never_null(member: &mut RefOr<Schema>) {
    if let RefOr::T(Schema::Object(object)) = member {
        one_type(&mut object.schema_type);
    } else if let RefOr::T(Schema::Array(array)) = member {
        one_type(&mut array.schema_type);
    } else if let RefOr::T(Schema::OneOf(one)) = member {
        one.items.retain(|item| !is_null(item));
        if let [only] = &one.items[..] {
            *member = only.clone();
        }
    }
}

fn one_type(types: &mut SchemaType) {
    if let SchemaType::Array(several) = types {
        several.retain(|one| *one != Type::Null);
        if let [only] = &several[..] {
            *types = SchemaType::Type(only.clone());
        }
    }
}

fn is_null(item: &RefOr<Schema>) -> bool {
    let null = SchemaType::Type(Type::Null);
    matches!(item, RefOr::T(Schema::Object(object)) if object.schema_type == null)
}
