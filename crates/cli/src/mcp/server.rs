//! The server: the list of tools, and calls.

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::service::{RequestContext, RoleServer};

use super::Desk;
use super::tool::Entry;
use super::{looks, negotiate, spends, steps};
use crate::failure::Failure;
use x811_protocol::shown::{escape_json, shorten};

pub(super) struct Server {
    introduction: String,
    tools: Vec<Entry>,
    desk: Desk,
}

impl Server {
    pub(super) fn new(introduction: String, desk: Desk) -> Result<Server, Failure> {
        let tools = vec![
            Entry::of::<looks::Status>()?,
            Entry::of::<looks::Discover>()?,
            Entry::of::<looks::Inbox>()?,
            Entry::of::<looks::History>()?,
            Entry::of::<negotiate::Negotiate>()?,
            Entry::of::<steps::Request>()?,
            Entry::of::<steps::Offer>()?,
            Entry::of::<spends::Accept>()?,
            Entry::of::<steps::Reject>()?,
            Entry::of::<steps::Deliver>()?,
            Entry::of::<steps::Verify>()?,
            Entry::of::<spends::Pay>()?,
            Entry::of::<looks::Receipt>()?,
        ];
        Ok(Server {
            introduction,
            tools,
            desk,
        })
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        let mut tools = self.tools.iter();
        tools.find(|entry| entry.description.name == name)
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("x811", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.introduction.clone())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.entry(name).map(|entry| entry.description.clone())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.tools.iter().map(|entry| entry.description.clone());
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(entry) = self.entry(&request.name) else {
            let text = format!("there is no tool {:?}", shorten(&request.name));
            return Err(ErrorData::invalid_params(escape_json(&text), None));
        };
        let arguments = request.arguments.unwrap_or_default();
        let result = match (entry.call)(arguments, &self.desk).await {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text.trim_end())]),
            Err(failure) => {
                let text = escape_json(&failure.to_json().to_string());
                CallToolResult::error(vec![ContentBlock::text(text)])
            }
        };
        Ok(result.into())
    }
}
