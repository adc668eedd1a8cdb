import type { Operation } from './operations.ts'

const REFERENCE = 'API reference'

/** Groups of the API reference, in the order in which a reader needs them. A path is in one group. */
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

/** Throws for a path without a group, so that a new one is given its place. */
export function groupOf(operation: Pick<Operation, 'path'>): string {
  return GROUPS[indexOf(operation)]![0]
}

/** Whether the operation serves the reference itself, which does not show it. */
export function isOfReference(operation: Pick<Operation, 'path'>): boolean {
  return groupOf(operation) === REFERENCE
}

/** The operations in the order of their groups; within one, in the order in which their routes are registered. */
export function inGroupOrder(operations: readonly Operation[]): Operation[] {
  return operations.toSorted((a, b) => indexOf(a) - indexOf(b))
}

function indexOf({ path }: Pick<Operation, 'path'>): number {
  const index = GROUPS.findIndex(([, pattern]) => pattern.test(path))
  if (index === -1)
    throw new Error(`${path} is in no group of the API reference (src/http/openapi/groups.ts)`)
  return index
}
