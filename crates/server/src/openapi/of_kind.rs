//! Operations that subjects of several kinds have. One handler serves them; its attribute describes what is the
//! same for all kinds, and an [`OfKind`] the rest.

use utoipa::ToSchema;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Content, Ref, RefOr, Required, ResponseBuilder};

/// Schemas with their names.
pub(crate) type Schemas = Vec<(String, RefOr<Schema>)>;

/// Adds the schemas of an answer and returns a reference to it.
pub(crate) type Form = fn(&mut Schemas) -> RefOr<Schema>;

/// The [`Form`] of answers of type `T`.
pub(crate) fn form<T: ToSchema>(schemas: &mut Schemas) -> RefOr<Schema> {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
    reference::<T>()
}

/// A reference to the schema of `T`.
pub(crate) fn reference<T: ToSchema>() -> RefOr<Schema> {
    Ref::from_schema_name(T::name()).into()
}

/// The parameter of a path that names a subject.
pub(crate) fn id_parameter(description: &str, schema: RefOr<Schema>) -> Parameter {
    ParameterBuilder::new()
        .name("id")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

/// An operation on subjects of one kind, as far as the attribute on its handler leaves it open.
pub(crate) struct OfKind {
    /// Replaces `{kind}` in the path.
    pub(crate) path: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) operation_id: &'static str,
    /// Replaces the summary, where the kind has one of its own.
    pub(crate) summary: Option<&'static str>,
    /// Parameters before those of the attribute.
    pub(crate) parameters: Vec<Parameter>,
    /// Description and form of the answer, unless the attribute has them.
    pub(crate) answer: Option<(&'static str, Form)>,
}

impl OfKind {
    /// Completes the operation, and adds the schemas of its answer.
    pub(super) fn complete(self, operation: &mut Operation, schemas: &mut Schemas) {
        operation.tags = Some(vec![self.tag.to_owned()]);
        operation.operation_id = Some(self.operation_id.to_owned());
        if let Some(summary) = self.summary {
            operation.summary = Some(summary.to_owned());
        }
        let parameters = operation.parameters.get_or_insert_default();
        parameters.splice(..0, self.parameters.into_iter().map(RefOr::T));
        if let Some((description, form)) = self.answer {
            let content = Content::new(Some(form(schemas)));
            let answer = ResponseBuilder::new().description(description);
            let answer = answer.content("application/json", content).build();
            let responses = &mut operation.responses.responses;
            responses.insert("200".to_owned(), answer.into());
        }
    }
}
