const REFERENCE = 'API reference'

/** Groups of the API reference, in reading order. Each path is in one group. */
const GROUPS: readonly (readonly [name: string, path: RegExp])[] = [
  ['Records', /^\/v1\/records(\/\{id\}(\/(entries|tree))?)?$/],
  ['Batches', /^\/v1\/records\/batch$/],
  ['OpenTelemetry', /^\/v1\/(traces|logs)$/],
  ['Gated records', /^\/v1\/records\/\{id\}\/(activate|completions|verdict|revision|cancel|overturn|share)$/],
  ['Proofs', /\/(proof|receipt)$|^\/v1\/checkpoints\/consistency$/],
  ['Statements', /^\/(entries|v1\/(statements|registration-policy)|\.well-known\/scitt-keys)/],
  ['Types', /^\/v1\/types/],
  ['Agents', /^\/v1\/agents/],
  ['Keys', /^\/v1\/keys/],
  ['Events', /^\/v1\/events/],
  ['Webhooks', /^\/v1\/webhooks/],
  ['Erasure', /^\/v1\/records\/.*\/(payload|evidence|values|reason)$/],
  ['Retention and holds', /^\/v1\/(retention|holds|subjects)/],
  ['Entries and export', /^\/v1\/(entries|exports?)$/],
  ['Checkpoints', /^\/v1\/checkpoints(\/latest|\/\{size\})?$/],
  ['Tiles', /^\/tlog\//],
  ['Audits', /^\/v1\/audits/],
  ['Peers', /^\/v1\/peers/],
  ['Ledger', /^\/v1\/ledger$/],
  ['Operator', /^\/v1\/ledgers/],
  ['Formats', /^\/(predicates|\.well-known)\//],
  ['Health', /^\/(livez|readyz)$/],
  [REFERENCE, /^\/(openapi\.json|docs(\/(base|scalar)\.js)?)?$/],
]

export const WEBHOOKS_GROUP = 'Webhooks'

const NAMES = GROUPS.map(([name]) => name)

/**
 * Returns the group of a path in OpenAPI's notation. Throws if no group matches, so that every new route gets a group.
 */
export function groupOf(path: string): string {
  const [name] = GROUPS.find(([, pattern]) => pattern.test(path)) ?? []
  if (name === undefined)
    throw new Error(`${path} is in no group of the API reference (src/http/openapi/groups.ts)`)
  return name
}

/**
 * Returns true if the operation serves a page of the API reference itself. The reference does not list these
 * operations.
 */
export function isOfReference({ group }: Grouped): boolean {
  return group === REFERENCE
}

/** Sorts operations by group. Within a group they stay in the order of registration. */
export function inGroupOrder<Each extends Grouped>(operations: readonly Each[]): Each[] {
  return operations.toSorted((a, b) => NAMES.indexOf(a.group) - NAMES.indexOf(b.group))
}

type Grouped = { readonly group: string }
