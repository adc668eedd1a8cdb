import type { Db } from '../../db/connect/client.ts'
import { findType, listTypes, type TypeRow, type TypeSummaryRow } from '../../db/ledgers/types.ts'
import type { Uuid } from '../../proof/ids.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { BUILT_IN_TYPES, type BuiltInType } from './built-in.ts'

/** Returns the type as JSON, or null if the ledger has no such type. */
export async function findTypeJson(pool: Db, ledgerId: Uuid, name: string): Promise<string | null> {
  const builtIn = BUILT_IN_TYPES.get(name)
  if (builtIn) return renderBuiltIn(builtIn)
  const row = await findType(pool, ledgerId, name)
  return row && renderType(row)
}

/**
 * Renders a type as JSON. The stored text of the definition is inserted unchanged, because parsing and writing it
 * again might change it.
 */
export function renderType({ name, gated, digest, definition, registeredAt, entry }: TypeRow): string {
  const { seq, kind, leaf, chain } = entry
  return (
    `{"type":"${name}","gated":${gated},"digest":"${digest}","registeredAt":"${registeredAt}",` +
    `"definition":${definition},"entry":{"seq":${seq},"kind":"${kind}","leaf":"${leaf}","chain":"${chain}"}}`
  )
}

function renderBuiltIn({ name, gated, digest, definition }: BuiltInType): string {
  const text = canonicalize(definition as unknown as JsonValue)
  return `{"type":"${name}","gated":${gated},"digest":"${digest}","registeredAt":null,"definition":${text},"entry":null}`
}

type TypeSummary = {
  readonly type: string
  readonly gated: boolean
  readonly digest: string
  readonly registeredAt: string | null
}

/** Lists types, including built-in types. They are sorted by name, as text. */
export async function listTypeSummaries(
  pool: Db,
  ledgerId: Uuid,
  page: { readonly name: string | null; readonly after: string | null; readonly limit: number },
): Promise<TypeSummary[]> {
  const builtIn = [...BUILT_IN_TYPES.values()]
    .filter((type) => page.name === null || type.definition.name === page.name)
    .filter((type) => type.name > (page.after ?? ''))
    .map((type) => summarize({ ...type, registeredAt: null }))
  const registered = (await listTypes(pool, ledgerId, page)).map(summarize)
  return [...builtIn, ...registered].sort((a, b) => (a.type < b.type ? -1 : 1)).slice(0, page.limit)
}

function summarize({
  name,
  gated,
  digest,
  registeredAt,
}: Omit<TypeSummaryRow, 'registeredAt'> & { registeredAt: string | null }): TypeSummary {
  return { type: name, gated, digest, registeredAt }
}
