// Made by `npm run docs` from /openapi.json; not to be edited.

export type Operation = {
  readonly method: string
  readonly path: string
  /** Whether repeating it does it twice: it doesn't, it doesn't with the same Idempotency-Key, or it does. */
  readonly repeat: 'freely' | 'with-key' | 'never'
}

/** The server's release that this was made from. */
export const API_VERSION = '0.1.0'

export const operations = {
  /** Whether the process answers. */
  getLivez: { method: 'GET', path: '/livez', repeat: 'freely' },
  /** Whether it can work. */
  getReadyz: { method: 'GET', path: '/readyz', repeat: 'freely' },
  /** The keys that sign envelopes. */
  getWellKnownTallystickKeysJson: { method: 'GET', path: '/.well-known/tallystick-keys.json', repeat: 'freely' },
  /** Make a ledger, with its first agent and a key that may do everything. */
  postLedgers: { method: 'POST', path: '/v1/ledgers', repeat: 'never' },
  /** List ledgers, in the order in which they were made. */
  getLedgers: { method: 'GET', path: '/v1/ledgers', repeat: 'freely' },
  /** A ledger. */
  getLedgersById: { method: 'GET', path: '/v1/ledgers/{id}', repeat: 'freely' },
  /** Freeze a ledger: it is read as before, and takes no entries. */
  postLedgersByIdFreeze: { method: 'POST', path: '/v1/ledgers/{id}/freeze', repeat: 'freely' },
  /** Let a frozen ledger take entries again. */
  postLedgersByIdUnfreeze: { method: 'POST', path: '/v1/ledgers/{id}/unfreeze', repeat: 'freely' },
  /** Make a key that may do everything, for a ledger whose own keys are lost. */
  postLedgersByIdKeys: { method: 'POST', path: '/v1/ledgers/{id}/keys', repeat: 'never' },
  /** The ledger of the key. */
  getLedger: { method: 'GET', path: '/v1/ledger', repeat: 'freely' },
  /** What was known of a ledger that is closed as restored, and what was found. */
  getLedgersByIdRestore: { method: 'GET', path: '/v1/ledgers/{id}/restore', repeat: 'freely' },
  /** Acknowledge what is lost, and let the ledger take entries again. */
  postLedgersByIdRestore: { method: 'POST', path: '/v1/ledgers/{id}/restore', repeat: 'never' },
  /** Register an agent. */
  postAgents: { method: 'POST', path: '/v1/agents', repeat: 'with-key' },
  /** List agents, in the order in which they were registered. */
  getAgents: { method: 'GET', path: '/v1/agents', repeat: 'freely' },
  /** An agent. */
  getAgentsById: { method: 'GET', path: '/v1/agents/{id}', repeat: 'freely' },
  /** Disable an agent, and with it all of its keys; not to be undone. */
  postAgentsByIdDisable: { method: 'POST', path: '/v1/agents/{id}/disable', repeat: 'with-key' },
  /** Make an API key for an agent. */
  postKeys: { method: 'POST', path: '/v1/keys', repeat: 'with-key' },
  /** List API keys, in the order in which they were made. */
  getKeys: { method: 'GET', path: '/v1/keys', repeat: 'freely' },
  /** An API key. */
  getKeysById: { method: 'GET', path: '/v1/keys/{id}', repeat: 'freely' },
  /** Give an API key a new secret; those before stay valid for a while. */
  postKeysByIdRotate: { method: 'POST', path: '/v1/keys/{id}/rotate', repeat: 'never' },
  /** Revoke an API key, and those that it has made where asked to; every server refuses them within 5 s. */
  postKeysByIdRevoke: { method: 'POST', path: '/v1/keys/{id}/revoke', repeat: 'with-key' },
  /** Limit the requests of a ledger’s keys together. */
  putLedgersByIdRateLimit: { method: 'PUT', path: '/v1/ledgers/{id}/rate-limit', repeat: 'freely' },
  /** Limit the requests of an API key. */
  putKeysByIdRateLimit: { method: 'PUT', path: '/v1/keys/{id}/rate-limit', repeat: 'freely' },
  /** Register a type, for good; 200 where the ledger has just this type already. */
  postTypes: { method: 'POST', path: '/v1/types', repeat: 'with-key' },
  /** List types, in the order of their names. */
  getTypes: { method: 'GET', path: '/v1/types', repeat: 'freely' },
  /** A type with its definition. */
  getTypesByNameByVersion: { method: 'GET', path: '/v1/types/{name}/{version}', repeat: 'freely' },
  /** What the type says of a payload or of evidence; writes nothing. */
  postTypesByNameByVersionPreview: { method: 'POST', path: '/v1/types/{name}/{version}/preview', repeat: 'freely' },
  /** What a definition that is not registered says of a payload or of evidence; writes nothing. */
  postTypesPreview: { method: 'POST', path: '/v1/types/preview', repeat: 'freely' },
  /** Notarize one record, or create one of a gated type. */
  postRecords: { method: 'POST', path: '/v1/records', repeat: 'with-key' },
  /** Records in the order of the chain, newest first. */
  getRecords: { method: 'GET', path: '/v1/records', repeat: 'freely' },
  /** Notarize many records in one entry, all or nothing. */
  postRecordsBatch: { method: 'POST', path: '/v1/records/batch', repeat: 'with-key' },
  /** Take the work on. */
  postRecordsByIdActivate: { method: 'POST', path: '/v1/records/{id}/activate', repeat: 'with-key' },
  /** Deliver the work, with evidence. */
  postRecordsByIdCompletions: { method: 'POST', path: '/v1/records/{id}/completions', repeat: 'with-key' },
  /** Judge the completion. */
  postRecordsByIdVerdict: { method: 'POST', path: '/v1/records/{id}/verdict', repeat: 'with-key' },
  /** Ask for a revision. */
  postRecordsByIdRevision: { method: 'POST', path: '/v1/records/{id}/revision', repeat: 'with-key' },
  /** Cancel what is not delivered. */
  postRecordsByIdCancel: { method: 'POST', path: '/v1/records/{id}/cancel', repeat: 'with-key' },
  /** Overturn a rejection. */
  postRecordsByIdOverturn: { method: 'POST', path: '/v1/records/{id}/overturn', repeat: 'with-key' },
  /** Share a gated record with peers, from its first entry on; not to be undone. */
  postRecordsByIdShare: { method: 'POST', path: '/v1/records/{id}/share', repeat: 'with-key' },
  /** Erase a payload, with its salt, metadata and references; not to be undone. */
  deleteRecordsByIdPayload: { method: 'DELETE', path: '/v1/records/{id}/payload', repeat: 'with-key' },
  /** Erase the evidence of a completion, with its salt; not to be undone. */
  deleteRecordsByIdCompletionsByCompletionEvidence: { method: 'DELETE', path: '/v1/records/{id}/completions/{completion}/evidence', repeat: 'with-key' },
  /** Erase the values that were compared, with its salt; not to be undone. */
  deleteRecordsByIdCompletionsByCompletionValues: { method: 'DELETE', path: '/v1/records/{id}/completions/{completion}/values', repeat: 'with-key' },
  /** Erase the reason that a step gives, with its salt; not to be undone. */
  deleteRecordsByIdEntriesBySeqReason: { method: 'DELETE', path: '/v1/records/{id}/entries/{seq}/reason', repeat: 'with-key' },
  /** A record as it stands. */
  getRecordsById: { method: 'GET', path: '/v1/records/{id}', repeat: 'freely' },
  /** A record's own entries, oldest first, with the documents of its steps. */
  getRecordsByIdEntries: { method: 'GET', path: '/v1/records/{id}/entries', repeat: 'freely' },
  /** A record, its ancestors, and its children, newest first. */
  getRecordsByIdTree: { method: 'GET', path: '/v1/records/{id}/tree', repeat: 'freely' },
  /** Records that are shared with a peer, both ways. */
  getPeersByIdRecords: { method: 'GET', path: '/v1/peers/{id}/records', repeat: 'freely' },
  /** A record that is shared with a peer, with the definition of its type where that came along. */
  getPeersByIdRecordsByRecord: { method: 'GET', path: '/v1/peers/{id}/records/{record}', repeat: 'freely' },
  /** Entries of the chain in order, one a line. */
  getEntries: { method: 'GET', path: '/v1/entries', repeat: 'freely' },
  /** The whole ledger, for `tallystick verify`. */
  getExport: { method: 'GET', path: '/v1/export', repeat: 'freely' },
  /** The newest checkpoint. */
  getCheckpointsLatest: { method: 'GET', path: '/v1/checkpoints/latest', repeat: 'freely' },
  /** The checkpoint of a size. */
  getCheckpointsBySize: { method: 'GET', path: '/v1/checkpoints/{size}', repeat: 'freely' },
  /** List checkpoints, newest first. */
  getCheckpoints: { method: 'GET', path: '/v1/checkpoints', repeat: 'freely' },
  /** Prove that the ledger of one size begins with that of another. */
  getCheckpointsConsistency: { method: 'GET', path: '/v1/checkpoints/consistency', repeat: 'freely' },
  /** Prove an entry of a record, the first one by default, in a checkpoint. */
  getRecordsByIdProof: { method: 'GET', path: '/v1/records/{id}/proof', repeat: 'freely' },
  /** Prove an entry in a checkpoint. */
  getEntriesBySeqProof: { method: 'GET', path: '/v1/entries/{seq}/proof', repeat: 'freely' },
  /** Have the whole ledger verified in the background; while one audit is open, that one is answered. */
  postAudits: { method: 'POST', path: '/v1/audits', repeat: 'freely' },
  /** List audits, newest first; of those that ended, the last hundred are kept. */
  getAudits: { method: 'GET', path: '/v1/audits', repeat: 'freely' },
  /** An audit. */
  getAuditsById: { method: 'GET', path: '/v1/audits/{id}', repeat: 'freely' },
  /** Events in the order of the chain: a page, or as they come (`Accept: text/event-stream`). */
  getEvents: { method: 'GET', path: '/v1/events', repeat: 'freely' },
  /** Have what happens from now on delivered to a URL. */
  postWebhooks: { method: 'POST', path: '/v1/webhooks', repeat: 'freely' },
  /** List webhooks, in the order in which they were made. */
  getWebhooks: { method: 'GET', path: '/v1/webhooks', repeat: 'freely' },
  /** A webhook, and how far it has heard. */
  getWebhooksById: { method: 'GET', path: '/v1/webhooks/{id}', repeat: 'freely' },
  /** Change a webhook; what is not named stays as it is. */
  patchWebhooksById: { method: 'PATCH', path: '/v1/webhooks/{id}', repeat: 'freely' },
  /** Delete a webhook, with its secrets; not to be undone. */
  deleteWebhooksById: { method: 'DELETE', path: '/v1/webhooks/{id}', repeat: 'never' },
  /** Deliver nothing to a webhook until it is resumed. */
  postWebhooksByIdPause: { method: 'POST', path: '/v1/webhooks/{id}/pause', repeat: 'freely' },
  /** Deliver to a webhook again, as if it had never failed. */
  postWebhooksByIdResume: { method: 'POST', path: '/v1/webhooks/{id}/resume', repeat: 'freely' },
  /** Give a webhook a new secret; deliveries are signed with those before as well for a while. */
  postWebhooksByIdRotateSecret: { method: 'POST', path: '/v1/webhooks/{id}/rotate-secret', repeat: 'never' },
  /** List what was delivered to a webhook or is to be, newest first. */
  getWebhooksByIdDeliveries: { method: 'GET', path: '/v1/webhooks/{id}/deliveries', repeat: 'freely' },
  /** A delivery with its attempts. */
  getWebhooksByIdDeliveriesByEvent: { method: 'GET', path: '/v1/webhooks/{id}/deliveries/{event}', repeat: 'freely' },
  /** Deliver an event now, with the same id, whatever became of it before. */
  postWebhooksByIdDeliveriesByEventRedeliver: { method: 'POST', path: '/v1/webhooks/{id}/deliveries/{event}/redeliver', repeat: 'never' },
  /** Deliver what was given up, oldest first. */
  postWebhooksByIdRedeliverDead: { method: 'POST', path: '/v1/webhooks/{id}/redeliver-dead', repeat: 'freely' },
  /** Deliver what was recorded in a time and not delivered, or all of it again. */
  postWebhooksByIdRecover: { method: 'POST', path: '/v1/webhooks/{id}/recover', repeat: 'never' },
  /** Send a webhook an event that says nothing. */
  postWebhooksByIdTest: { method: 'POST', path: '/v1/webhooks/{id}/test', repeat: 'never' },
  /** Invite a ledger of another server, or accept its invitation. */
  postPeers: { method: 'POST', path: '/v1/peers', repeat: 'never' },
  /** List peers, in the order in which they were invited. */
  getPeers: { method: 'GET', path: '/v1/peers', repeat: 'freely' },
  /** A peer, and how far it has heard. */
  getPeersById: { method: 'GET', path: '/v1/peers/{id}', repeat: 'freely' },
  /** Suspend a peering: nothing is sent, and nothing is taken, until it is resumed. */
  postPeersByIdSuspend: { method: 'POST', path: '/v1/peers/{id}/suspend', repeat: 'with-key' },
  /** Resume a peering that was suspended. */
  postPeersByIdResume: { method: 'POST', path: '/v1/peers/{id}/resume', repeat: 'with-key' },
  /** End a peering for good; the other side is told. */
  postPeersByIdRevoke: { method: 'POST', path: '/v1/peers/{id}/revoke', repeat: 'with-key' },
  /** Bound what a peer may have this side store in a day. */
  putPeersByIdBudget: { method: 'PUT', path: '/v1/peers/{id}/budget', repeat: 'freely' },
  /** Entries that the other side refused, each with what it was sent. */
  getPeersByIdDeadLetters: { method: 'GET', path: '/v1/peers/{id}/dead-letters', repeat: 'freely' },
  /** Send again what the other side refused, and what waits behind it. */
  postPeersByIdReplay: { method: 'POST', path: '/v1/peers/{id}/replay', repeat: 'never' },
  /** Entries of the other side that contradict what it sent before. */
  getPeersByIdForks: { method: 'GET', path: '/v1/peers/{id}/forks', repeat: 'freely' },
  /** Whether a peer holds what this ledger does: what was exchanged, and what it last said. */
  getPeersByIdReconciliation: { method: 'GET', path: '/v1/peers/{id}/reconciliation', repeat: 'freely' },
  /** Ask a peer anew what it holds: `asking` says until when. */
  postPeersByIdReconciliation: { method: 'POST', path: '/v1/peers/{id}/reconciliation', repeat: 'freely' },
  /** The JSON Schema of what a statement of a kind says. */
  getPredicatesByKindV1: { method: 'GET', path: '/predicates/{kind}/v1', repeat: 'freely' },
  /** This document: every address, what it takes and answers. */
  getOpenapiJson: { method: 'GET', path: '/openapi.json', repeat: 'freely' },
  /** This document, for people. */
  getDocs: { method: 'GET', path: '/docs', repeat: 'freely' },
  /** The script of /docs. */
  getDocsScalarJs: { method: 'GET', path: '/docs/scalar.js', repeat: 'freely' },
} as const satisfies Record<string, Operation>
