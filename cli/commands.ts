import type { Command } from './command.ts'

type Entry = {
  readonly summary: string
  /** Loads the command on demand, because each command has imports of its own and `--help` needs none of them. */
  readonly load: () => Promise<Command>
}

/** Maps full names to all commands, in the order of `tallystick --help`. */
export const COMMANDS: Readonly<Record<string, Entry>> = {
  init: {
    summary: 'store a server and key for this user, and check them',
    load: async () => (await import('./commands/init.ts')).init,
  },
  doctor: {
    summary: 'check the connection, the key and the ledger, with advice',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  preflight: {
    summary: 'measure and judge the database of a deployment',
    load: async () => (await import('./commands/preflight.ts')).preflight,
  },
  notarize: {
    summary: 'notarize records: JSON, files, NDJSON in batches',
    load: async () => (await import('./commands/notarize.ts')).notarize,
  },
  hook: {
    summary: 'record the hook events of a coding agent',
    load: async () => (await import('./commands/hook.ts')).hook,
  },
  'mcp-proxy': {
    summary: 'run between an MCP client and a server, and record every tool call',
    load: async () => (await import('./commands/mcp-proxy.ts')).mcpProxy,
  },
  flush: {
    summary: 'send records of hooks and proxies, and show what is left',
    load: async () => (await import('./commands/flush.ts')).flush,
  },
  create: {
    summary: 'create a gated record: commission work',
    load: async () => (await import('./commands/create.ts')).create,
  },
  activate: {
    summary: 'activate a gated record: accept the work',
    load: async () => (await import('./commands/steps.ts')).activate,
  },
  complete: {
    summary: 'complete a gated record: deliver the work, with evidence',
    load: async () => (await import('./commands/steps.ts')).complete,
  },
  verdict: {
    summary: 'accept or reject a completion',
    load: async () => (await import('./commands/verdict.ts')).verdict,
  },
  revise: {
    summary: 'request a revision',
    load: async () => (await import('./commands/steps.ts')).revise,
  },
  cancel: {
    summary: 'cancel a gated record',
    load: async () => (await import('./commands/steps.ts')).cancel,
  },
  overturn: {
    summary: 'overturn a rejection',
    load: async () => (await import('./commands/steps.ts')).overturn,
  },
  erase: {
    summary: 'erase a document of a record, for good',
    load: async () => (await import('./commands/erase.ts')).erase,
  },
  share: {
    summary: 'share a record with ledgers of other servers',
    load: async () => (await import('./commands/steps.ts')).share,
  },
  get: {
    summary: 'show a record, or wait for its state',
    load: async () => (await import('./commands/get.ts')).get,
  },
  list: {
    summary: 'list and search records',
    load: async () => (await import('./commands/list.ts')).list,
  },
  entries: {
    summary: 'list entries of the chain, as JSON lines',
    load: async () => (await import('./commands/entries.ts')).entries,
  },
  events: {
    summary: 'list events',
    load: async () => (await import('./commands/events.ts')).events,
  },
  tail: {
    summary: 'follow events',
    load: async () => (await import('./commands/tail.ts')).tail,
  },
  proof: {
    summary: 'get the proof of an entry, for offline verification',
    load: async () => (await import('./commands/proof.ts')).proof,
  },
  receipt: {
    summary: 'get a COSE receipt of an entry, for offline verification',
    load: async () => (await import('./commands/receipt.ts')).receipt,
  },
  statement: {
    summary: 'show the statement of an entry, or export it as DSSE',
    load: async () => (await import('./commands/statement.ts')).statement,
  },
  bundle: {
    summary: 'save a record, a run or a range of entries as one file, for offline verification',
    load: async () => (await import('./commands/bundle.ts')).bundle,
  },
  verify: {
    summary: 'verify a ledger, an entry or a record, offline',
    load: async () => (await import('./commands/verify.ts')).verify,
  },
  'verify receipt': {
    summary: 'verify an entry by its receipt, offline',
    load: async () => (await import('./commands/verify-receipt.ts')).verifyReceipt,
  },
  'verify bundle': {
    summary: 'verify a bundle, offline',
    load: async () => (await import('./commands/verify-bundle.ts')).verifyBundle,
  },
  'verify statement': {
    summary: 'verify a Transparent Statement, offline',
    load: async () => (await import('./commands/verify-statement.ts')).verifyStatement,
  },
  reconcile: {
    summary: 'verify two ledgers that share records, and compare them, offline',
    load: async () => (await import('./commands/reconcile.ts')).reconcile,
  },
  report: {
    summary: 'write a report on a bundle, grouped by your controls: HTML, CSV, JSON',
    load: async () => (await import('./commands/report.ts')).report,
  },
  export: {
    summary: 'export a ledger as NDJSON',
    load: async () => (await import('./commands/export.ts')).exportLedger,
  },
  'checkpoints list': {
    summary: 'list checkpoints',
    load: async () => (await import('./commands/checkpoints.ts')).checkpointsList,
  },
  'checkpoints watch': {
    summary: 'store checkpoints outside of the ledger',
    load: async () => (await import('./commands/checkpoints-watch.ts')).checkpointsWatch,
  },
  witness: {
    summary: 'run a witness, which cosigns checkpoints of logs',
    load: async () => (await import('./commands/witness.ts')).witness,
  },
  mcp: {
    summary: 'serve the ledger to an MCP client, on standard input and output',
    load: async () => (await import('./commands/mcp.ts')).mcp,
  },
  'types list': {
    summary: 'list types',
    load: async () => (await import('./commands/types.ts')).typesList,
  },
  'types get': {
    summary: 'show a type with its definition',
    load: async () => (await import('./commands/types.ts')).typesGet,
  },
  'types register': {
    summary: 'register types, for good',
    load: async () => (await import('./commands/types-register.ts')).typesRegister,
  },
  'types preview': {
    summary: 'validate documents by a type',
    load: async () => (await import('./commands/types-preview.ts')).typesPreview,
  },
  'agents list': {
    summary: 'list agents',
    load: async () => (await import('./commands/agents.ts')).agentsList,
  },
  'agents get': {
    summary: 'show an agent',
    load: async () => (await import('./commands/agents.ts')).agentsGet,
  },
  'agents register': {
    summary: 'register an agent',
    load: async () => (await import('./commands/agents.ts')).agentsRegister,
  },
  'agents disable': {
    summary: 'disable an agent and its keys, for good',
    load: async () => (await import('./commands/agents.ts')).agentsDisable,
  },
  'agents keygen': {
    summary: 'make a key with which an agent signs for itself',
    load: async () => (await import('./commands/agents-keygen.ts')).agentsKeygen,
  },
  'agents signing-keys': {
    summary: 'list the signing keys of an agent',
    load: async () => (await import('./commands/agents-keys.ts')).agentsKeys,
  },
  'agents register-key': {
    summary: 'register a signing key of an agent',
    load: async () => (await import('./commands/agents-keys.ts')).agentsRegisterKey,
  },
  'agents revoke-key': {
    summary: 'revoke a signing key of an agent, for good',
    load: async () => (await import('./commands/agents-keys.ts')).agentsRevokeKey,
  },
  'keys list': {
    summary: 'list API keys',
    load: async () => (await import('./commands/keys.ts')).keysList,
  },
  'keys get': {
    summary: 'show an API key',
    load: async () => (await import('./commands/keys.ts')).keysGet,
  },
  'keys create': {
    summary: 'create an API key',
    load: async () => (await import('./commands/keys-create.ts')).keysCreate,
  },
  'keys rotate': {
    summary: 'rotate the secret of an API key',
    load: async () => (await import('./commands/keys-rotate.ts')).keysRotate,
  },
  'keys revoke': {
    summary: 'revoke an API key, for good',
    load: async () => (await import('./commands/keys-revoke.ts')).keysRevoke,
  },
  'keys otlp': {
    summary: 'set which spans and logs are accepted from an API key',
    load: async () => (await import('./commands/keys.ts')).keysOtlp,
  },
  'keys limit': {
    summary: 'set the rate limit of an API key',
    load: async () => (await import('./commands/keys.ts')).keysLimit,
  },
  'webhooks create': {
    summary: 'deliver events to a URL',
    load: async () => (await import('./commands/webhooks-create.ts')).webhooksCreate,
  },
  'webhooks list': {
    summary: 'list webhooks and their state',
    load: async () => (await import('./commands/webhooks.ts')).webhooksList,
  },
  'webhooks get': {
    summary: 'show a webhook',
    load: async () => (await import('./commands/webhooks.ts')).webhooksGet,
  },
  'webhooks update': {
    summary: 'change a webhook',
    load: async () => (await import('./commands/webhooks.ts')).webhooksUpdate,
  },
  'webhooks pause': {
    summary: 'pause a webhook',
    load: async () => (await import('./commands/webhooks.ts')).webhooksPause,
  },
  'webhooks resume': {
    summary: 'resume a webhook',
    load: async () => (await import('./commands/webhooks.ts')).webhooksResume,
  },
  'webhooks delete': {
    summary: 'delete a webhook, for good',
    load: async () => (await import('./commands/webhooks-delete.ts')).webhooksDelete,
  },
  'webhooks rotate-secret': {
    summary: 'rotate the secret of a webhook',
    load: async () => (await import('./commands/webhooks-rotate-secret.ts')).webhooksRotateSecret,
  },
  'webhooks test': {
    summary: 'send a test event, and show the answer',
    load: async () => (await import('./commands/webhooks-test.ts')).webhooksTest,
  },
  'webhooks deliveries': {
    summary: 'list deliveries',
    load: async () => (await import('./commands/webhooks-deliveries.ts')).webhooksDeliveries,
  },
  'webhooks delivery': {
    summary: 'show a delivery with its attempts',
    load: async () => (await import('./commands/webhooks-delivery.ts')).webhooksDelivery,
  },
  'webhooks redeliver': {
    summary: 'redeliver an event',
    load: async () => (await import('./commands/webhooks-redeliver.ts')).webhooksRedeliver,
  },
  'webhooks redeliver-dead': {
    summary: 'redeliver dead letters',
    load: async () => (await import('./commands/webhooks.ts')).webhooksRedeliverDead,
  },
  'webhooks recover': {
    summary: 'deliver events of a period that a webhook missed',
    load: async () => (await import('./commands/webhooks.ts')).webhooksRecover,
  },
  'peers invite': {
    summary: 'invite a ledger of another server',
    load: async () => (await import('./commands/peers-invite.ts')).peersInvite,
  },
  'peers accept': {
    summary: 'accept an invitation',
    load: async () => (await import('./commands/peers-accept.ts')).peersAccept,
  },
  'peers list': {
    summary: 'list peers and their state',
    load: async () => (await import('./commands/peers.ts')).peersList,
  },
  'peers get': {
    summary: 'show a peer',
    load: async () => (await import('./commands/peers.ts')).peersGet,
  },
  'peers records': {
    summary: 'list records shared with a peer, in both directions',
    load: async () => (await import('./commands/peers.ts')).peersRecords,
  },
  'peers suspend': {
    summary: 'suspend a peering',
    load: async () => (await import('./commands/peers.ts')).peersSuspend,
  },
  'peers resume': {
    summary: 'resume a peering',
    load: async () => (await import('./commands/peers.ts')).peersResume,
  },
  'peers revoke': {
    summary: 'revoke a peering, for good',
    load: async () => (await import('./commands/peers.ts')).peersRevoke,
  },
  'peers budget': {
    summary: 'set the daily storage budget of a peer',
    load: async () => (await import('./commands/peers.ts')).peersBudget,
  },
  'peers dead-letters': {
    summary: 'list entries that a peer refused',
    load: async () => (await import('./commands/peers.ts')).peersDeadLetters,
  },
  'peers replay': {
    summary: 'replay refused entries',
    load: async () => (await import('./commands/peers.ts')).peersReplay,
  },
  'peers forks': {
    summary: 'list entries with which a peer contradicts itself (forks)',
    load: async () => (await import('./commands/peers.ts')).peersForks,
  },
  'peers reconciliation': {
    summary: 'compare records with a peer',
    load: async () => (await import('./commands/peers-reconciliation.ts')).peersReconciliation,
  },
  'retention set': {
    summary: 'set how long documents are stored; without --yes show what that would erase',
    load: async () => (await import('./commands/retention.ts')).retentionSet,
  },
  'retention list': {
    summary: 'list retention rules',
    load: async () => (await import('./commands/retention.ts')).retentionList,
  },
  'holds set': {
    summary: 'set a legal hold on records: their documents are not erased',
    load: async () => (await import('./commands/holds.ts')).holdsSet,
  },
  'holds lift': {
    summary: 'lift a hold',
    load: async () => (await import('./commands/holds.ts')).holdsLift,
  },
  'holds list': {
    summary: 'list holds',
    load: async () => (await import('./commands/holds.ts')).holdsList,
  },
  'subjects find': {
    summary: 'find the documents of a person',
    load: async () => (await import('./commands/subjects.ts')).subjectsFind,
  },
  'subjects erase': {
    summary: 'erase all documents of a person, for good',
    load: async () => (await import('./commands/subjects.ts')).subjectsErase,
  },
  'statements register': {
    summary: 'register a Signed Statement of somebody else (SCITT)',
    load: async () => (await import('./commands/statements.ts')).statementsRegister,
  },
  'statements get': {
    summary: 'show a registered statement, or write it with its receipt',
    load: async () => (await import('./commands/statements.ts')).statementsGet,
  },
  'statements list': {
    summary: 'list registered statements, by issuer and subject',
    load: async () => (await import('./commands/statements.ts')).statementsList,
  },
  'statements policy': {
    summary: 'show the registration policy: the issuers whose statements are accepted',
    load: async () => (await import('./commands/statements.ts')).statementsPolicy,
  },
  'statements set-policy': {
    summary: 'replace the registration policy',
    load: async () => (await import('./commands/statements.ts')).statementsSetPolicy,
  },
  'ledgers tiles': {
    summary: 'set who may read the tiles of a ledger: anybody, or only its keys',
    load: async () => (await import('./commands/ledgers-tiles.ts')).ledgersTiles,
  },
  audit: {
    summary: 'let the server verify the whole ledger',
    load: async () => (await import('./commands/audit.ts')).audit,
  },
  'audits list': {
    summary: 'list audits and their findings',
    load: async () => (await import('./commands/audits.ts')).auditsList,
  },
  'audits get': {
    summary: 'show an audit',
    load: async () => (await import('./commands/audits.ts')).auditsGet,
  },
}

export type FoundCommand = { readonly name: string; readonly entry: Entry; readonly rest: readonly string[] }

/** Returns the command that the first arguments name. Returns null if there is no such command. */
export function findCommand([first = '', second = '', ...others]: readonly string[]): FoundCommand | null {
  const both = `${first} ${second}`
  if (Object.hasOwn(COMMANDS, both)) return { name: both, entry: COMMANDS[both]!, rest: others }
  if (Object.hasOwn(COMMANDS, first)) {
    const rest = second === '' ? others : [second, ...others]
    return { name: first, entry: COMMANDS[first]!, rest }
  }
  return null
}
