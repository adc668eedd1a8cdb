import type { KubernetesObject, Rendering } from './render.ts'

/*
 * Applies the Gateway API's matching rules (HTTPRouteRule.matches) to requests, over the routes of two deployments
 * behind one Gateway. An exact path takes precedence, then the longest path, then the most headers. No controller is
 * used here. Some controllers, such as Envoy, match a pattern against the whole text, others against a part of it. So
 * a pattern must match in both ways.
 */

type Request = { readonly path: string; readonly headers?: Readonly<Record<string, string>> }
type Header = { readonly type: string; readonly name: string; readonly value: string }
type Match = { readonly path: { readonly type: string; readonly value: string }; readonly headers?: Header[] }

const [FIRST, SECOND, OTHER] = [
  '01m8gq0x04f7zafc8hprmkg7aq',
  '01m8gq101wem6t7e122wgsw24j',
  '01m8gq0yayfkv9mk9m1sed73a2',
]
const keyOf = (ledger: string) => ({ authorization: `Bearer tly_${ledger}0123456789abcdefABCDEF` })
const OPERATOR = { authorization: `Bearer tlo_${'e'.repeat(40)}` }

/**
 * Requests, each with the deployment that must get it. Deployment `a` takes new ledgers. Deployment `b` has the first
 * two ledgers. The rows follow the table of docs/operate/capacity.md#several-deployments-behind-one-address.
 */
const REQUESTS: readonly (readonly [deployment: 'a' | 'b', request: Request])[] = [
  ...[
    '/v1/records',
    '/v1/records/rec_1/verdict?x=1',
    '/v1/ledger',
    '/mcp',
    '/entries/1',
    '/v1/export',
  ].flatMap(
    (path) =>
      [
        ['b', { path, headers: keyOf(FIRST!) }],
        ['b', { path, headers: keyOf(SECOND!) }],
        ['a', { path, headers: keyOf(OTHER!) }],
        ['a', { path }],
      ] as const,
  ),
  ['b', { path: '/v1/ledger', headers: { authorization: `bearer tly_${FIRST}x` } }],
  ['a', { path: '/v1/ledger', headers: { authorization: `Bearer x tly_${FIRST}x` } }],
  ['b', { path: `/tlog/led_${FIRST}/checkpoint` }],
  ['b', { path: `/tlog/led_${SECOND}/tile/0/000`, headers: keyOf(OTHER!) }],
  ['a', { path: `/tlog/led_${OTHER}/checkpoint`, headers: keyOf(FIRST!) }],
  ['b', { path: `/v1/ledgers/led_${FIRST}`, headers: OPERATOR }],
  ['b', { path: `/v1/ledgers/led_${SECOND}/freeze`, headers: OPERATOR }],
  ['a', { path: `/v1/ledgers/led_${OTHER}`, headers: OPERATOR }],
  ['b', { path: '/v1/federation/entries', headers: { 'tallystick-to': `led_${FIRST}` } }],
  ['b', { path: '/v1/federation/checkpoint', headers: { 'tallystick-to': `led_${SECOND}` } }],
  ['a', { path: '/v1/federation/entries', headers: { ...keyOf(FIRST!), 'tallystick-to': `led_${OTHER}` } }],
  ['a', { path: '/v1/ledgers', headers: OPERATOR }],
  ['b', { path: '/v1/ledgers', headers: { ...OPERATOR, 'tallystick-deployment': 'b' } }],
  ['a', { path: '/v1/ledgers', headers: { ...OPERATOR, 'tallystick-deployment': 'a' } }],
  ...['/livez', '/readyz', '/docs', '/console/', '/.well-known/tallystick', '/'].map(
    (path) => ['a', { path }] as const,
  ),
]

/** Returns the requests that reach a deployment without the ledger of the request. */
export function findStrays(renderings: readonly Rendering[]): string[] {
  const faults: string[] = []
  for (const [, group] of Map.groupBy(
    renderings,
    ({ helm, kubernetesVersion }) => helm + kubernetesVersion,
  )) {
    const matches = (['gateway-default', 'gateway-ledgers'] as const).flatMap((name) =>
      routesOf(group.find((rendering) => rendering.name === name)!.objects),
    )
    for (const [expected, request] of REQUESTS) {
      const found = route(matches, request)
      if (found !== expected) faults.push(`${JSON.stringify(request)} reaches ${found}, not ${expected}`)
    }
  }
  return faults
}

type Route = { readonly deployment: string; readonly match: Match }

function routesOf(objects: readonly KubernetesObject[]): Route[] {
  return objects
    .filter(({ kind }) => kind === 'HTTPRoute')
    .flatMap(({ spec }) => spec.rules)
    .flatMap(({ matches, filters }) => {
      const deployment: string = filters[0].responseHeaderModifier.set[0].value
      return matches.map((match: Match) => ({ deployment, match }))
    })
}

function route(routes: readonly Route[], request: Request): string {
  const found = routes.filter(({ match }) => fits(match, request))
  found.sort((one, two) => compareRanks(rankOf(one.match), rankOf(two.match)))
  const [best, next] = found
  if (best === undefined) return 'no deployment'
  const isTie = next !== undefined && compareRanks(rankOf(best.match), rankOf(next.match)) === 0
  return isTie && best.deployment !== next.deployment ? 'two deployments' : best.deployment
}

/**
 * Ranks a match. An exact path ranks before a prefix. Then the longer path wins, and then the larger number of headers.
 */
function rankOf({ path, headers = [] }: Match): readonly number[] {
  return [path.type === 'Exact' ? 1 : 0, path.value.length, headers.length]
}

function compareRanks(one: readonly number[], two: readonly number[]): number {
  const at = one.findIndex((rank, i) => rank !== two[i])
  return at === -1 ? 0 : two[at]! - one[at]!
}

function fits({ path, headers = [] }: Match, request: Request): boolean {
  const [asked] = request.path.split('?') as [string]
  const isBelow = path.value === '/' || asked === path.value || asked.startsWith(`${path.value}/`)
  const isPath = path.type === 'Exact' ? asked === path.value : isBelow
  return isPath && headers.every((header) => fitsHeader(header, request.headers ?? {}))
}

function fitsHeader({ type, name, value }: Header, headers: Readonly<Record<string, string>>): boolean {
  const said = headers[name.toLowerCase()]
  if (said === undefined || type === 'Exact') return said === value
  const [whole, part] = [new RegExp(`^(?:${value})$`), new RegExp(value)].map((pattern) => pattern.test(said))
  if (whole !== part) throw new Error(`${value} means another thing as a part`)
  return whole!
}
