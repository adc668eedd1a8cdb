import { ERROR_CODES } from '../src/errors.ts'
import { BUILT_IN_TYPES } from '../src/ledgers/types/built-in.ts'
import { builtInTypes } from './built-in-types.ts'
import { MADE_BY, type OpenApi, type Operation, operationsOf } from './open-api.ts'
import { apiTypes } from './sdk-types.ts'

/* Generates TypeScript from /openapi.json and the table of errors, so that the SDK's sources repeat nothing by hand. */

export async function sdkSources(openApi: OpenApi): Promise<Record<string, string>> {
  return {
    'sdk/generated/api.ts': await apiTypes(openApi),
    'sdk/generated/operations.ts': operationTable(openApi),
    'sdk/generated/errors.ts': errorTable(),
    'sdk/generated/built-in-types.ts': `${MADE_BY}
/** Types that every ledger has (docs/guides/types.md). */
export type BuiltInTypes = ${builtInTypes([...BUILT_IN_TYPES.values()])}
`,
  }
}

/** Operations that write without an Idempotency-Key. A repetition of one of them has no further effect. */
const REPEATABLE = [
  'postTypesPreview',
  'postRetentionPreview',
  'postSubjectsFind',
  'postTypesByNameByVersionPreview',
  'postLedgersByIdFreeze',
  'postLedgersByIdUnfreeze',
  'postAudits',
  // This operation can be repeated, because the same statement is registered only once.
  'postEntries',
  // This operation can be repeated: an equal webhook is refused, and the refusal names the existing webhook.
  'postWebhooks',
  'patchWebhooksById',
  'postWebhooksByIdPause',
  'postWebhooksByIdResume',
  'postWebhooksByIdRedeliverDead',
  'postPeersByIdReconciliation',
]

export function repeatOf(method: string, { operationId, parameters = [] }: Operation): string {
  if (parameters.some((parameter) => parameter.in === 'header' && parameter.name === 'Idempotency-Key'))
    return 'with-key'
  return method === 'get' || method === 'put' || REPEATABLE.includes(operationId) ? 'freely' : 'never'
}

function operationTable(openApi: OpenApi): string {
  const rows = operationsOf(openApi).map(
    ({ method, path, operation }) =>
      `  /** ${operation.summary}. */\n  ${operation.operationId}: { method: '${method.toUpperCase()}', path: '${path}', repeat: '${repeatOf(method, operation)}' },`,
  )
  return `${MADE_BY}
export type Operation = {
  readonly method: string
  readonly path: string
  /** When a request can be repeated without being done twice: always, with the same Idempotency-Key, or never. */
  readonly repeat: 'freely' | 'with-key' | 'never'
}

/** Release of the server from which this file was made. */
export const API_VERSION = '${openApi.info.version}'

export const operations = {
${rows.join('\n')}
} as const satisfies Record<string, Operation>
`
}

function errorTable(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, [, , , advice]]) => `  ${code}: ${JSON.stringify(advice)},`,
  )
  return `${MADE_BY}
/** Advice for each error of the server (docs/reference/errors.md). */
export const ADVICE = {
${rows.join('\n')}
} as const

export type ErrorCode = keyof typeof ADVICE
`
}
