// Loads the installed package as n8n does, and runs its node for each line of the standard input: n8n's own loader,
// expressions and request engine. A line is {package, credentials, parameters, items, workflow_id, execution_id}; the
// answer is a line with {items} or {error}, after "answer: ".
const { createInterface } = require("node:readline");
const { ExecuteContext, PackageDirectoryLoader, RoutingNode } = require("n8n-core");
const { Workflow, createEmptyRunExecutionData } = require("n8n-workflow");

/** n8n keeps credentials in its database; here they are given. `authenticate` is what its generic kind does. */
function credentialsOf(loader, credentials) {
  const type = loader.getCredential("posthasteApi").type;
  return {
    getParentTypes: () => [],
    isCredentialUsableByNode: () => true,
    preAuthentication: async () => undefined,
    getDecrypted: async () => credentials,
    authenticate: async (_given, _name, options) => {
      for (const [name, value] of Object.entries(type.authenticate.properties.headers)) {
        const filled = value.replace(/^=/, "").replace(/{{\$credentials\.(\w+)}}/g, (_all, field) => credentials[field]);
        options.headers = { ...options.headers, [name]: filled };
      }
      return options;
    },
  };
}

async function run(asked) {
  const loader = new PackageDirectoryLoader(asked.package);
  await loader.loadAll();
  const { type } = loader.getNode("posthaste");
  const nodeTypes = { getByName: () => type, getByNameAndVersion: () => type, getKnownTypes: () => ({}) };
  const node = {
    id: "1", name: "Posthaste", type: "n8n-nodes-posthaste.posthaste", typeVersion: 1, position: [0, 0],
    parameters: asked.parameters, credentials: { posthasteApi: { id: "1", name: "Posthaste" } },
  };
  const workflow = new Workflow({
    id: asked.workflow_id, nodes: [node], connections: {}, active: false, nodeTypes, settings: { timezone: "Europe/Berlin" },
  });
  const additionalData = {
    executionId: asked.execution_id, credentialsHelper: credentialsOf(loader, asked.credentials), hooks: undefined,
    restApiUrl: "", instanceBaseUrl: "", webhookBaseUrl: "", variables: {}, currentNodeParameters: undefined,
  };
  const input = { main: [asked.items.map((json) => ({ json }))] };
  const made = createEmptyRunExecutionData();
  const mine = workflow.getNode("Posthaste");
  const execute = { node: mine, data: input, source: null };
  await workflow.expression.acquireIsolate?.();
  const context = new ExecuteContext(workflow, mine, additionalData, "manual", made, 0, input.main[0], input, execute, []);
  try {
    const [items] = await new RoutingNode(context, type).runNode();
    return { items: items.map((item) => item.json) };
  } catch (error) {
    return { error: { message: error.message, description: error.description, code: error.httpCode } };
  }
}

async function main() {
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`answer: ${JSON.stringify(await run(JSON.parse(line)))}\n`);
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
