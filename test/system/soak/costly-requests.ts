export type CostlyRequest = { readonly path: string; readonly body: object }

type Documents = { readonly list: { list: number[] }; readonly text: { text: string } }

function makeDocuments(bytes: number): Documents {
  const letters = Array.from({ length: bytes }, (_, i) => ((i * 7_919) % 13 < 6 ? 'a' : 'b'))
  return { list: { list: Array.from({ length: bytes / 2 }, () => 1) }, text: { text: letters.join('') } }
}

export const SMALL = makeDocuments(1_000)
export const LARGE = makeDocuments(60_000)

export const COSTLY_TYPES = [
  {
    name: 'ways',
    version: 1,
    payloadSchema: { properties: { text: { pattern: '[ab]*a[ab]{400}[^ab][^ab]' } } },
  },
  { name: 'nested', version: 1, payloadSchema: { properties: { text: { pattern: '^(a+)+$' } } } },
  {
    name: 'tower',
    version: 1,
    payloadSchema: {
      $defs: Object.fromEntries(
        Array.from({ length: 8 }, (_, i) => [
          `n${i}`,
          i === 7
            ? { type: 'integer' }
            : { allOf: [{ $ref: `#/$defs/n${i + 1}` }, { $ref: `#/$defs/n${i + 1}` }] },
        ]),
      ),
      properties: { list: { items: { $ref: '#/$defs/n0' } } },
    },
  },
]

/** Returns a definition that is as costly to compile as possible. Each `n` gives another definition. */
function costlyDefinition(n: number) {
  const patterns = Array.from({ length: 60 }, (_, i) => [
    `[\\p{L}\\P{Lu}]{${i}}(?:[^a-z]?){${(n % 300) + 100}}`,
    true,
  ])
  return { name: 'new', version: 1, payloadSchema: { patternProperties: Object.fromEntries(patterns) } }
}

/** Returns a request with a document of 60 KB, which any client may send. */
export function plainRequest(n: number): CostlyRequest {
  return { path: '/v1/records', body: { type: 'generic/1', payload: n % 2 ? LARGE.list : LARGE.text } }
}

/**
 * Returns a function that makes requests. Some requests notarize with costly types. Other requests make the server
 * compile a new definition.
 */
export function hostileRequest({ list, text }: Documents): (n: number) => CostlyRequest {
  return (n) => {
    if (n % 3 === 0) return { path: '/v1/types/preview', body: costlyDefinition(n) }
    if (n % 3 === 1)
      return { path: '/v1/records', body: { type: n % 2 ? 'ways/1' : 'nested/1', payload: text } }
    return { path: '/v1/records', body: { type: 'tower/1', payload: list } }
  }
}
