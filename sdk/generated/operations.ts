// Made by `npm run docs` from /openapi.json; not to be edited.

export type Operation = {
  readonly method: string
  readonly path: string
  /** When a request can be repeated without being done twice: always, with the same Idempotency-Key, or never. */
  readonly repeat: 'freely' | 'with-key' | 'never'
}

/** Release of the server from which this file was made. */
export const API_VERSION = '0.1.0'

export const operations = {
  /** Notarize a record, or create a gated one. */
  postRecords: { method: 'POST', path: '/v1/records', repeat: 'with-key' },
  /** List records, newest first. */
  getRecords: { method: 'GET', path: '/v1/records', repeat: 'freely' },
  /** Get a record, or wait for its next step. */
  getRecordsById: { method: 'GET', path: '/v1/records/{id}', repeat: 'freely' },
  /** List the entries of a record, oldest first, with the documents of its steps. */
  getRecordsByIdEntries: { method: 'GET', path: '/v1/records/{id}/entries', repeat: 'freely' },
  /** Get the tree of a record: its ancestors, and its children, newest first. */
  getRecordsByIdTree: { method: 'GET', path: '/v1/records/{id}/tree', repeat: 'freely' },
  /** Notarize a batch of records in one entry, all or nothing. */
  postRecordsBatch: { method: 'POST', path: '/v1/records/batch', repeat: 'with-key' },
  /** Notarize spans (OTLP over HTTP). */
  postTraces: { method: 'POST', path: '/v1/traces', repeat: 'never' },
  /** Notarize log records (OTLP over HTTP). */
  postLogs: { method: 'POST', path: '/v1/logs', repeat: 'never' },
  /** Activate: take the work on. */
  postRecordsByIdActivate: { method: 'POST', path: '/v1/records/{id}/activate', repeat: 'with-key' },
  /** Complete: deliver the work, with evidence. */
  postRecordsByIdCompletions: { method: 'POST', path: '/v1/records/{id}/completions', repeat: 'with-key' },
  /** Render a verdict on the completion. */
  postRecordsByIdVerdict: { method: 'POST', path: '/v1/records/{id}/verdict', repeat: 'with-key' },
  /** Request a revision. */
  postRecordsByIdRevision: { method: 'POST', path: '/v1/records/{id}/revision', repeat: 'with-key' },
  /** Cancel work that is not delivered. */
  postRecordsByIdCancel: { method: 'POST', path: '/v1/records/{id}/cancel', repeat: 'with-key' },
  /** Overturn a rejection. */
  postRecordsByIdOverturn: { method: 'POST', path: '/v1/records/{id}/overturn', repeat: 'with-key' },
  /** Share a gated record with peers, from its first entry on, for good. */
  postRecordsByIdShare: { method: 'POST', path: '/v1/records/{id}/share', repeat: 'with-key' },
  /** Prove that a size of the ledger begins with a smaller one. */
  getCheckpointsConsistency: { method: 'GET', path: '/v1/checkpoints/consistency', repeat: 'freely' },
  /** Prove an entry of a record, the first one by default, in a checkpoint. */
  getRecordsByIdProof: { method: 'GET', path: '/v1/records/{id}/proof', repeat: 'freely' },
  /** Prove an entry in a checkpoint. */
  getEntriesBySeqProof: { method: 'GET', path: '/v1/entries/{seq}/proof', repeat: 'freely' },
  /** Get the COSE receipt of an entry of a record, the first one by default. */
  getRecordsByIdReceipt: { method: 'GET', path: '/v1/records/{id}/receipt', repeat: 'freely' },
  /** Get the COSE receipt of an entry. */
  getEntriesBySeqReceipt: { method: 'GET', path: '/v1/entries/{seq}/receipt', repeat: 'freely' },
  /** Get the COSE receipt that the ledger of a checkpoint begins with a smaller size. */
  getCheckpointsConsistencyReceipt: { method: 'GET', path: '/v1/checkpoints/consistency/receipt', repeat: 'freely' },
  /** Register a Signed Statement (SCRAPI): answers its receipt, or 303 while no checkpoint covers it; JSON on request. */
  postEntries: { method: 'POST', path: '/entries', repeat: 'freely' },
  /** Get the receipt of a registered statement (SCRAPI); 202 while no checkpoint covers it yet. */
  getEntriesById: { method: 'GET', path: '/entries/{id}', repeat: 'freely' },
  /** Get the keys of receipts as a COSE Key Set (SCRAPI). */
  getWellKnownScittKeys: { method: 'GET', path: '/.well-known/scitt-keys', repeat: 'freely' },
  /** Get a key of receipts as a COSE Key, by its kid in base64url (SCRAPI). */
  getWellKnownScittKeysByKid: { method: 'GET', path: '/.well-known/scitt-keys/{kid}', repeat: 'freely' },
  /** List registered statements, newest first, by issuer and subject. */
  getStatements: { method: 'GET', path: '/v1/statements', repeat: 'freely' },
  /** Get a registered statement. */
  getStatementsById: { method: 'GET', path: '/v1/statements/{id}', repeat: 'freely' },
  /** Set which issuers’ statements the ledger registers; the policy becomes an entry of the ledger. */
  putRegistrationPolicy: { method: 'PUT', path: '/v1/registration-policy', repeat: 'freely' },
  /** Get the registration policy of the ledger. */
  getRegistrationPolicy: { method: 'GET', path: '/v1/registration-policy', repeat: 'freely' },
  /** Register a type, for good; 200 if the ledger has exactly this type already. */
  postTypes: { method: 'POST', path: '/v1/types', repeat: 'with-key' },
  /** List types, by name. */
  getTypes: { method: 'GET', path: '/v1/types', repeat: 'freely' },
  /** Get a type with its definition. */
  getTypesByNameByVersion: { method: 'GET', path: '/v1/types/{name}/{version}', repeat: 'freely' },
  /** Validate a payload or evidence by a type; writes nothing. */
  postTypesByNameByVersionPreview: { method: 'POST', path: '/v1/types/{name}/{version}/preview', repeat: 'freely' },
  /** Validate a payload or evidence by an unregistered definition; writes nothing. */
  postTypesPreview: { method: 'POST', path: '/v1/types/preview', repeat: 'freely' },
  /** Register an agent. */
  postAgents: { method: 'POST', path: '/v1/agents', repeat: 'with-key' },
  /** List agents, oldest first. */
  getAgents: { method: 'GET', path: '/v1/agents', repeat: 'freely' },
  /** Get an agent. */
  getAgentsById: { method: 'GET', path: '/v1/agents/{id}', repeat: 'freely' },
  /** Disable an agent and its keys, for good. */
  postAgentsByIdDisable: { method: 'POST', path: '/v1/agents/{id}/disable', repeat: 'with-key' },
  /** Register a key with which an agent signs its own entries. */
  postAgentsByIdSigningKeys: { method: 'POST', path: '/v1/agents/{id}/signing-keys', repeat: 'with-key' },
  /** List the signing keys of an agent, oldest first. */
  getAgentsByIdSigningKeys: { method: 'GET', path: '/v1/agents/{id}/signing-keys', repeat: 'freely' },
  /** Revoke a signing key for good: what it signs is refused from then on. */
  postAgentsByIdSigningKeysByKidRevoke: { method: 'POST', path: '/v1/agents/{id}/signing-keys/{kid}/revoke', repeat: 'with-key' },
  /** Create an API key for an agent. */
  postKeys: { method: 'POST', path: '/v1/keys', repeat: 'with-key' },
  /** List API keys, oldest first. */
  getKeys: { method: 'GET', path: '/v1/keys', repeat: 'freely' },
  /** Get an API key. */
  getKeysById: { method: 'GET', path: '/v1/keys/{id}', repeat: 'freely' },
  /** Rotate the secret of an API key; older secrets stay valid for a while. */
  postKeysByIdRotate: { method: 'POST', path: '/v1/keys/{id}/rotate', repeat: 'never' },
  /** Revoke an API key, and on request the keys made with it; every server refuses them within 5 s. */
  postKeysByIdRevoke: { method: 'POST', path: '/v1/keys/{id}/revoke', repeat: 'with-key' },
  /** Set the rate limit of an API key. */
  putKeysByIdRateLimit: { method: 'PUT', path: '/v1/keys/{id}/rate-limit', repeat: 'freely' },
  /** Set which spans and logs an API key accepts, and whether their content is stored. */
  putKeysByIdOtlp: { method: 'PUT', path: '/v1/keys/{id}/otlp', repeat: 'freely' },
  /** List events, oldest first: a page, or a stream (`Accept: text/event-stream`). */
  getEvents: { method: 'GET', path: '/v1/events', repeat: 'freely' },
  /** Create a webhook: deliver events from now on to a URL. */
  postWebhooks: { method: 'POST', path: '/v1/webhooks', repeat: 'freely' },
  /** List webhooks, oldest first. */
  getWebhooks: { method: 'GET', path: '/v1/webhooks', repeat: 'freely' },
  /** Get a webhook and its progress. */
  getWebhooksById: { method: 'GET', path: '/v1/webhooks/{id}', repeat: 'freely' },
  /** Update a webhook; absent members stay as they are. */
  patchWebhooksById: { method: 'PATCH', path: '/v1/webhooks/{id}', repeat: 'freely' },
  /** Delete a webhook, with its secrets, for good. */
  deleteWebhooksById: { method: 'DELETE', path: '/v1/webhooks/{id}', repeat: 'never' },
  /** Pause a webhook. */
  postWebhooksByIdPause: { method: 'POST', path: '/v1/webhooks/{id}/pause', repeat: 'freely' },
  /** Resume a webhook and clear its failures. */
  postWebhooksByIdResume: { method: 'POST', path: '/v1/webhooks/{id}/resume', repeat: 'freely' },
  /** Rotate the secret of a webhook; for a while, deliveries are also signed with older secrets. */
  postWebhooksByIdRotateSecret: { method: 'POST', path: '/v1/webhooks/{id}/rotate-secret', repeat: 'never' },
  /** List deliveries of a webhook, newest first. */
  getWebhooksByIdDeliveries: { method: 'GET', path: '/v1/webhooks/{id}/deliveries', repeat: 'freely' },
  /** Get a delivery with its attempts. */
  getWebhooksByIdDeliveriesByEvent: { method: 'GET', path: '/v1/webhooks/{id}/deliveries/{event}', repeat: 'freely' },
  /** Redeliver an event now, with the same id. */
  postWebhooksByIdDeliveriesByEventRedeliver: { method: 'POST', path: '/v1/webhooks/{id}/deliveries/{event}/redeliver', repeat: 'never' },
  /** Redeliver dead letters, oldest first. */
  postWebhooksByIdRedeliverDead: { method: 'POST', path: '/v1/webhooks/{id}/redeliver-dead', repeat: 'freely' },
  /** Recover a period: deliver its undelivered events, or all of them again. */
  postWebhooksByIdRecover: { method: 'POST', path: '/v1/webhooks/{id}/recover', repeat: 'never' },
  /** Send a test event to a webhook. */
  postWebhooksByIdTest: { method: 'POST', path: '/v1/webhooks/{id}/test', repeat: 'never' },
  /** Erase a payload, with its salt, metadata and references, for good. */
  deleteRecordsByIdPayload: { method: 'DELETE', path: '/v1/records/{id}/payload', repeat: 'with-key' },
  /** Erase the evidence of a completion, with its salt, for good. */
  deleteRecordsByIdCompletionsByCompletionEvidence: { method: 'DELETE', path: '/v1/records/{id}/completions/{completion}/evidence', repeat: 'with-key' },
  /** Erase the values that were compared, with its salt, for good. */
  deleteRecordsByIdCompletionsByCompletionValues: { method: 'DELETE', path: '/v1/records/{id}/completions/{completion}/values', repeat: 'with-key' },
  /** Erase the reason of a step, with its salt, for good. */
  deleteRecordsByIdEntriesBySeqReason: { method: 'DELETE', path: '/v1/records/{id}/entries/{seq}/reason', repeat: 'with-key' },
  /** Set how long documents of records are stored; then the worker erases them, by entries that name the rule. */
  postRetentionRules: { method: 'POST', path: '/v1/retention/rules', repeat: 'never' },
  /** List retention rules, newest first. */
  getRetentionRules: { method: 'GET', path: '/v1/retention/rules', repeat: 'freely' },
  /** Count what a rule would erase now, one page of the chain at a time. */
  postRetentionPreview: { method: 'POST', path: '/v1/retention/preview', repeat: 'freely' },
  /** Hold records: none of their documents is erased until the hold is lifted. */
  postHolds: { method: 'POST', path: '/v1/holds', repeat: 'never' },
  /** List holds, newest first. */
  getHolds: { method: 'GET', path: '/v1/holds', repeat: 'freely' },
  /** Lift a hold; other holds on its records stay. */
  postHoldsBySeqLift: { method: 'POST', path: '/v1/holds/{seq}/lift', repeat: 'never' },
  /** Find the documents of a person by label, oldest first. */
  postSubjectsFind: { method: 'POST', path: '/v1/subjects/find', repeat: 'freely' },
  /** Erase documents of a person for good, as many as one receipt can name. */
  postSubjectsErase: { method: 'POST', path: '/v1/subjects/erase', repeat: 'never' },
  /** List entries of the chain, oldest first, one per line. */
  getEntries: { method: 'GET', path: '/v1/entries', repeat: 'freely' },
  /** Export the whole ledger, for `tallystick verify`. */
  getExport: { method: 'GET', path: '/v1/export', repeat: 'freely' },
  /** Record in the chain that entries are exported, and by whom. */
  postExports: { method: 'POST', path: '/v1/exports', repeat: 'never' },
  /** Get the newest checkpoint, or the newest that witnesses have cosigned. */
  getCheckpointsLatest: { method: 'GET', path: '/v1/checkpoints/latest', repeat: 'freely' },
  /** Get the checkpoint of a size. */
  getCheckpointsBySize: { method: 'GET', path: '/v1/checkpoints/{size}', repeat: 'freely' },
  /** List checkpoints, newest first. */
  getCheckpoints: { method: 'GET', path: '/v1/checkpoints', repeat: 'freely' },
  /** Get the newest checkpoint of a ledger as a tiled log. */
  getTlogByLedgerCheckpoint: { method: 'GET', path: '/tlog/{ledger}/checkpoint', repeat: 'freely' },
  /** Get a tile of hashes, or a bundle of entries, of a ledger as a tiled log. */
  getTlogByLedgerTileByPath: { method: 'GET', path: '/tlog/{ledger}/tile/{path}', repeat: 'freely' },
  /** Request an audit of the whole ledger; answers the open one if there is one. */
  postAudits: { method: 'POST', path: '/v1/audits', repeat: 'freely' },
  /** List audits, newest first; the last hundred ended ones are kept. */
  getAudits: { method: 'GET', path: '/v1/audits', repeat: 'freely' },
  /** Get an audit. */
  getAuditsById: { method: 'GET', path: '/v1/audits/{id}', repeat: 'freely' },
  /** List records shared with a peer, in both directions. */
  getPeersByIdRecords: { method: 'GET', path: '/v1/peers/{id}/records', repeat: 'freely' },
  /** Get a record shared with a peer, with the definition of its type if the peer sent it. */
  getPeersByIdRecordsByRecord: { method: 'GET', path: '/v1/peers/{id}/records/{record}', repeat: 'freely' },
  /** Invite a ledger of another server, or accept its invitation. */
  postPeers: { method: 'POST', path: '/v1/peers', repeat: 'never' },
  /** List peers, oldest first. */
  getPeers: { method: 'GET', path: '/v1/peers', repeat: 'freely' },
  /** Get a peer and its progress. */
  getPeersById: { method: 'GET', path: '/v1/peers/{id}', repeat: 'freely' },
  /** Suspend a peering: nothing is sent or received until it is resumed. */
  postPeersByIdSuspend: { method: 'POST', path: '/v1/peers/{id}/suspend', repeat: 'with-key' },
  /** Resume a suspended peering. */
  postPeersByIdResume: { method: 'POST', path: '/v1/peers/{id}/resume', repeat: 'with-key' },
  /** End a peering for good; the other side is notified. */
  postPeersByIdRevoke: { method: 'POST', path: '/v1/peers/{id}/revoke', repeat: 'with-key' },
  /** Set the daily storage budget of a peer. */
  putPeersByIdBudget: { method: 'PUT', path: '/v1/peers/{id}/budget', repeat: 'freely' },
  /** List entries that the peer refused (dead letters). */
  getPeersByIdDeadLetters: { method: 'GET', path: '/v1/peers/{id}/dead-letters', repeat: 'freely' },
  /** Replay dead letters, and the entries that wait behind them. */
  postPeersByIdReplay: { method: 'POST', path: '/v1/peers/{id}/replay', repeat: 'never' },
  /** List entries of the peer that contradict earlier ones (forks). */
  getPeersByIdForks: { method: 'GET', path: '/v1/peers/{id}/forks', repeat: 'freely' },
  /** Get the reconciliation with a peer. */
  getPeersByIdReconciliation: { method: 'GET', path: '/v1/peers/{id}/reconciliation', repeat: 'freely' },
  /** Request a new reconciliation with a peer. */
  postPeersByIdReconciliation: { method: 'POST', path: '/v1/peers/{id}/reconciliation', repeat: 'freely' },
  /** Get the ledger of the key. */
  getLedger: { method: 'GET', path: '/v1/ledger', repeat: 'freely' },
  /** Create a ledger, with its first agent and a key with every scope. */
  postLedgers: { method: 'POST', path: '/v1/ledgers', repeat: 'never' },
  /** List ledgers, oldest first. */
  getLedgers: { method: 'GET', path: '/v1/ledgers', repeat: 'freely' },
  /** Get a ledger. */
  getLedgersById: { method: 'GET', path: '/v1/ledgers/{id}', repeat: 'freely' },
  /** Freeze a ledger: it accepts no entries, and can still be read. */
  postLedgersByIdFreeze: { method: 'POST', path: '/v1/ledgers/{id}/freeze', repeat: 'freely' },
  /** Unfreeze a ledger. */
  postLedgersByIdUnfreeze: { method: 'POST', path: '/v1/ledgers/{id}/unfreeze', repeat: 'freely' },
  /** Create a key with every scope, for a ledger whose keys are lost. */
  postLedgersByIdKeys: { method: 'POST', path: '/v1/ledgers/{id}/keys', repeat: 'never' },
  /** Get the state of a ledger that is closed as restored. */
  getLedgersByIdRestore: { method: 'GET', path: '/v1/ledgers/{id}/restore', repeat: 'freely' },
  /** Acknowledge the loss, and reopen the ledger. */
  postLedgersByIdRestore: { method: 'POST', path: '/v1/ledgers/{id}/restore', repeat: 'never' },
  /** Set the rate limit of a ledger. */
  putLedgersByIdRateLimit: { method: 'PUT', path: '/v1/ledgers/{id}/rate-limit', repeat: 'freely' },
  /** Let anybody read the tiles of a ledger, or only its keys. */
  putLedgersByIdTiles: { method: 'PUT', path: '/v1/ledgers/{id}/tiles', repeat: 'freely' },
  /** Get the signing keys of envelopes. */
  getWellKnownTallystickKeysJson: { method: 'GET', path: '/.well-known/tallystick-keys.json', repeat: 'freely' },
  /** Get the JSON Schema of a kind of statement. */
  getPredicatesByKindV1: { method: 'GET', path: '/predicates/{kind}/v1', repeat: 'freely' },
  /** Check that the process answers. */
  getLivez: { method: 'GET', path: '/livez', repeat: 'freely' },
  /** Check that the server is ready. */
  getReadyz: { method: 'GET', path: '/readyz', repeat: 'freely' },
  /** Get the OpenAPI document. */
  getOpenapiJson: { method: 'GET', path: '/openapi.json', repeat: 'freely' },
  /** Redirect to the API reference. */
  getRoot: { method: 'GET', path: '/', repeat: 'freely' },
  /** Get the API reference. */
  getDocs: { method: 'GET', path: '/docs', repeat: 'freely' },
  /** Get the script that gives the API reference its address. */
  getDocsBaseJs: { method: 'GET', path: '/docs/base.js', repeat: 'freely' },
  /** Get the script of the API reference. */
  getDocsScalarJs: { method: 'GET', path: '/docs/scalar.js', repeat: 'freely' },
} as const satisfies Record<string, Operation>
