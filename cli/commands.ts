import type { Command } from './command.ts'

type Entry = {
  /** A line of `tallystick --help`. */
  readonly summary: string
  /** Loaded when it is called: a command brings what it needs, and help needs nothing. */
  readonly load: () => Promise<Command>
}

/** Every command, by its whole name, in the order of `tallystick --help`. */
export const COMMANDS: Readonly<Record<string, Entry>> = {
  init: {
    summary: 'keep a server and key for this user, and check them',
    load: async () => (await import('./commands/init.ts')).init,
  },
  doctor: {
    summary: 'check the connection, the key and the ledger, and say what to do',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  preflight: {
    summary: 'measure the database that a deployment is to stand on, and say what is wrong',
    load: async () => (await import('./commands/preflight.ts')).preflight,
  },
  notarize: {
    summary: 'write down what happened: JSON, files, NDJSON in batches',
    load: async () => (await import('./commands/notarize.ts')).notarize,
  },
  create: {
    summary: 'commission work: a gated record',
    load: async () => (await import('./commands/create.ts')).create,
  },
  activate: {
    summary: 'take the work on',
    load: async () => (await import('./commands/activate.ts')).activate,
  },
  complete: {
    summary: 'deliver the work, with evidence',
    load: async () => (await import('./commands/complete.ts')).complete,
  },
  verdict: {
    summary: 'accept or reject what was delivered',
    load: async () => (await import('./commands/verdict.ts')).verdict,
  },
  revise: {
    summary: 'ask for the work to be delivered again',
    load: async () => (await import('./commands/revise.ts')).revise,
  },
  cancel: {
    summary: 'call the work off',
    load: async () => (await import('./commands/cancel.ts')).cancel,
  },
  overturn: {
    summary: 'turn a rejection into an acceptance',
    load: async () => (await import('./commands/overturn.ts')).overturn,
  },
  erase: {
    summary: 'erase a document of a record, for good',
    load: async () => (await import('./commands/erase.ts')).erase,
  },
  share: {
    summary: 'share a record with ledgers of other servers',
    load: async () => (await import('./commands/share.ts')).share,
  },
  get: {
    summary: 'a record, or wait for its state',
    load: async () => (await import('./commands/get.ts')).get,
  },
  list: {
    summary: 'records, by what they are',
    load: async () => (await import('./commands/list.ts')).list,
  },
  entries: {
    summary: 'entries of the chain, as JSON lines',
    load: async () => (await import('./commands/entries.ts')).entries,
  },
  events: {
    summary: 'what happened, as others are told of it',
    load: async () => (await import('./commands/events.ts')).events,
  },
  tail: {
    summary: 'follow what happens, as it comes',
    load: async () => (await import('./commands/tail.ts')).tail,
  },
  proof: {
    summary: 'what proves an entry offline',
    load: async () => (await import('./commands/proof.ts')).proof,
  },
  verify: {
    summary: 'check a whole ledger, one entry or one record, offline',
    load: async () => (await import('./commands/verify.ts')).verify,
  },
  reconcile: {
    summary: 'check two ledgers that share records against each other, offline',
    load: async () => (await import('./commands/reconcile.ts')).reconcile,
  },
  export: {
    summary: 'save a ledger as NDJSON',
    load: async () => (await import('./commands/export.ts')).exportLedger,
  },
  'checkpoints list': {
    summary: 'at which sizes checkpoints were published',
    load: async () => (await import('./commands/checkpoints-list.ts')).checkpointsList,
  },
  'checkpoints watch': {
    summary: "keep a ledger's checkpoints outside of it",
    load: async () => (await import('./commands/checkpoints-watch.ts')).checkpointsWatch,
  },
  'types list': {
    summary: 'types of records',
    load: async () => (await import('./commands/types-list.ts')).typesList,
  },
  'types get': {
    summary: 'a type with its definition',
    load: async () => (await import('./commands/types-get.ts')).typesGet,
  },
  'types register': {
    summary: 'register types, for good',
    load: async () => (await import('./commands/types-register.ts')).typesRegister,
  },
  'types preview': {
    summary: 'what a type says of documents',
    load: async () => (await import('./commands/types-preview.ts')).typesPreview,
  },
  'types codegen': {
    summary: 'TypeScript of the registered types',
    load: async () => (await import('./commands/types-codegen.ts')).typesCodegen,
  },
  'agents list': {
    summary: 'who acts',
    load: async () => (await import('./commands/agents-list.ts')).agentsList,
  },
  'agents get': {
    summary: 'an agent',
    load: async () => (await import('./commands/agents-get.ts')).agentsGet,
  },
  'agents register': {
    summary: 'register an agent',
    load: async () => (await import('./commands/agents-register.ts')).agentsRegister,
  },
  'agents disable': {
    summary: 'disable an agent and its keys, for good',
    load: async () => (await import('./commands/agents-disable.ts')).agentsDisable,
  },
  'keys list': {
    summary: 'API keys',
    load: async () => (await import('./commands/keys-list.ts')).keysList,
  },
  'keys get': {
    summary: 'an API key',
    load: async () => (await import('./commands/keys-get.ts')).keysGet,
  },
  'keys create': {
    summary: 'make an API key',
    load: async () => (await import('./commands/keys-create.ts')).keysCreate,
  },
  'keys rotate': {
    summary: 'give an API key a new secret',
    load: async () => (await import('./commands/keys-rotate.ts')).keysRotate,
  },
  'keys revoke': {
    summary: 'revoke an API key, for good',
    load: async () => (await import('./commands/keys-revoke.ts')).keysRevoke,
  },
  'keys limit': {
    summary: 'limit the requests of an API key',
    load: async () => (await import('./commands/keys-limit.ts')).keysLimit,
  },
  'webhooks create': {
    summary: 'have what happens delivered to a URL',
    load: async () => (await import('./commands/webhooks-create.ts')).webhooksCreate,
  },
  'webhooks list': {
    summary: 'webhooks, and how each stands',
    load: async () => (await import('./commands/webhooks-list.ts')).webhooksList,
  },
  'webhooks get': {
    summary: 'a webhook',
    load: async () => (await import('./commands/webhooks-get.ts')).webhooksGet,
  },
  'webhooks update': {
    summary: 'change a webhook',
    load: async () => (await import('./commands/webhooks-update.ts')).webhooksUpdate,
  },
  'webhooks pause': {
    summary: 'deliver nothing to a webhook for a while',
    load: async () => (await import('./commands/webhooks-pause.ts')).webhooksPause,
  },
  'webhooks resume': {
    summary: 'deliver to a webhook again',
    load: async () => (await import('./commands/webhooks-resume.ts')).webhooksResume,
  },
  'webhooks delete': {
    summary: 'delete a webhook, for good',
    load: async () => (await import('./commands/webhooks-delete.ts')).webhooksDelete,
  },
  'webhooks rotate-secret': {
    summary: 'give a webhook a new secret',
    load: async () => (await import('./commands/webhooks-rotate-secret.ts')).webhooksRotateSecret,
  },
  'webhooks test': {
    summary: 'send a webhook a test event, and see what it answers',
    load: async () => (await import('./commands/webhooks-test.ts')).webhooksTest,
  },
  'webhooks deliveries': {
    summary: 'what was delivered to a webhook, or is to be',
    load: async () => (await import('./commands/webhooks-deliveries.ts')).webhooksDeliveries,
  },
  'webhooks delivery': {
    summary: 'a delivery, with its attempts',
    load: async () => (await import('./commands/webhooks-delivery.ts')).webhooksDelivery,
  },
  'webhooks redeliver': {
    summary: 'deliver an event again',
    load: async () => (await import('./commands/webhooks-redeliver.ts')).webhooksRedeliver,
  },
  'webhooks redeliver-dead': {
    summary: 'deliver what was given up',
    load: async () => (await import('./commands/webhooks-redeliver-dead.ts')).webhooksRedeliverDead,
  },
  'webhooks recover': {
    summary: 'deliver what was missed in a time',
    load: async () => (await import('./commands/webhooks-recover.ts')).webhooksRecover,
  },
  'peers invite': {
    summary: 'invite a ledger of another server',
    load: async () => (await import('./commands/peers-invite.ts')).peersInvite,
  },
  'peers accept': {
    summary: 'accept the invitation of a ledger of another server',
    load: async () => (await import('./commands/peers-accept.ts')).peersAccept,
  },
  'peers list': {
    summary: 'ledgers of other servers, and how each stands',
    load: async () => (await import('./commands/peers-list.ts')).peersList,
  },
  'peers get': {
    summary: 'a peer',
    load: async () => (await import('./commands/peers-get.ts')).peersGet,
  },
  'peers records': {
    summary: 'what is shared with a peer, both ways',
    load: async () => (await import('./commands/peers-records.ts')).peersRecords,
  },
  'peers suspend': {
    summary: 'send a peer nothing, and take nothing, for a while',
    load: async () => (await import('./commands/peers-suspend.ts')).peersSuspend,
  },
  'peers resume': {
    summary: 'go on with a peer',
    load: async () => (await import('./commands/peers-resume.ts')).peersResume,
  },
  'peers revoke': {
    summary: 'end a peering, for good',
    load: async () => (await import('./commands/peers-revoke.ts')).peersRevoke,
  },
  'peers budget': {
    summary: 'bound what a peer may have this side store in a day',
    load: async () => (await import('./commands/peers-budget.ts')).peersBudget,
  },
  'peers dead-letters': {
    summary: 'what a peer refused',
    load: async () => (await import('./commands/peers-dead-letters.ts')).peersDeadLetters,
  },
  'peers replay': {
    summary: 'send a peer again what it refused',
    load: async () => (await import('./commands/peers-replay.ts')).peersReplay,
  },
  'peers forks': {
    summary: 'where a peer contradicts itself',
    load: async () => (await import('./commands/peers-forks.ts')).peersForks,
  },
  'peers reconciliation': {
    summary: 'whether a peer holds what this ledger does',
    load: async () => (await import('./commands/peers-reconciliation.ts')).peersReconciliation,
  },
  audit: {
    summary: 'have the server verify its whole ledger',
    load: async () => (await import('./commands/audit.ts')).audit,
  },
  'audits list': {
    summary: 'audits, and what they found',
    load: async () => (await import('./commands/audits-list.ts')).auditsList,
  },
  'audits get': {
    summary: 'an audit',
    load: async () => (await import('./commands/audits-get.ts')).auditsGet,
  },
}

export type Found = { readonly name: string; readonly entry: Entry; readonly rest: readonly string[] }

/** The command that the arguments begin with; null where there is none of that name. */
export function findCommand([first = '', second = '', ...others]: readonly string[]): Found | null {
  const both = `${first} ${second}`
  if (Object.hasOwn(COMMANDS, both)) return { name: both, entry: COMMANDS[both]!, rest: others }
  if (Object.hasOwn(COMMANDS, first)) {
    const rest = second === '' ? others : [second, ...others]
    return { name: first, entry: COMMANDS[first]!, rest }
  }
  return null
}
