import { type Filters, linkTo } from './router.ts'

const PAGES: Readonly<Record<string, string>> = { rec: 'record', agt: 'agents', key: 'agents', peer: 'peers' }

type KnownNames = {
  /** Maps an agent's id to its name. */
  readonly names: ReadonlyMap<string, string>
  readonly ledger: { readonly size: number }
}

/**
 * Returns the link for a typed text: an id, a seq, a trace, or the name of an agent. Any other text, and a text in
 * quotes, leads to the search in records. `filters`: filters of that search.
 */
export function linkOf(typed: string, { names, ledger }: KnownNames, filters: Filters = {}): string {
  const [, quoted] = /^["“](.+)["”]$/.exec(typed) ?? []
  if (quoted !== undefined) return linkTo('search', '', { ...filters, text: quoted })
  const [, prefix = ''] = /^([a-z]+)_[0-9a-z]{26}$/.exec(typed) ?? []
  const page = PAGES[prefix]
  if (page !== undefined) return linkTo(page, typed)
  // A number beyond the last seq is not a seq. It is searched as a text, because it may be an invoice number, for
  // example.
  if (/^\d{1,15}$/.test(typed) && Number(typed) < ledger.size) return linkTo('entry', typed)
  if (/^[0-9a-f]{32}$/i.test(typed)) return linkTo('run', '', { trace: typed.toLowerCase() })
  const [, trace] = /^00-([0-9a-f]{32})-/.exec(typed) ?? []
  if (trace !== undefined) return linkTo('run', '', { trace })
  const agent = [...names].find(([, name]) => name === typed)?.[0]
  if (agent !== undefined) return linkTo('search', '', { actor: agent })
  return linkTo('search', '', { ...filters, text: typed })
}
