import { linkTo } from './router.ts'

const PAGES: Readonly<Record<string, string>> = { rec: 'record', agt: 'agents', key: 'agents', peer: 'peers' }

/** Address at which something is shown: for an agent's name, all that it did. Any other text is a reference. */
export function placeOf(text: string, names: ReadonlyMap<string, string>): string {
  const [, prefix = ''] = /^([a-z]+)_[0-9a-z]{26}$/.exec(text) ?? []
  const page = PAGES[prefix]
  if (page !== undefined) return linkTo(page, text)
  if (/^\d{1,15}$/.test(text)) return linkTo('entry', text)
  if (/^[0-9a-f]{32}$/i.test(text)) return linkTo('run', '', { trace: text.toLowerCase() })
  const [, trace] = /^00-([0-9a-f]{32})-/.exec(text) ?? []
  if (trace !== undefined) return linkTo('run', '', { trace })
  const agent = [...names].find(([, name]) => name === text)?.[0]
  return linkTo('search', '', agent === undefined ? { reference: text } : { actor: agent })
}
