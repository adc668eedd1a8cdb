import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '../../sdk/errors.ts'
import { CLOCK_EVERY_MS, COPIED_MS } from '../limits.ts'
import { linkTo } from '../router.ts'
import { ago, clockTime } from '../times.ts'
import { JsonTree } from './json-tree.tsx'

/*
 * Components that all pages use. A text of a ledger becomes a text node, and its hidden characters are marked:
 * console/shown-text.ts.
 */

/**
 * An id with a copy button. `to`: link to its page. `short`: shows only the end of the id. Ids made at the same time
 * differ only there.
 */
export function Id({ id, to, short }: { id: string; to?: string | undefined; short?: boolean }) {
  const text = short ? shortened(id) : id
  const code = <code title={id}>{text}</code>
  return (
    <span class="id">
      {to === undefined ? code : <a href={to}>{code}</a>}
      <Copy text={id} />
    </span>
  )
}

function shortened(id: string): string {
  const end = id.lastIndexOf('_') + 1
  return id.length - end <= 10 ? id : `${id.slice(0, Math.max(0, end - 1))}…${id.slice(-8)}`
}

const COPY_PATH = 'M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1'
const COPIED_PATH = 'M2.5 8.5l4 4 7-9'

/** Button that copies a text. `label`: name of the text for screen readers; by default the text itself. */
export function Copy({ text, label = text }: { text: string; label?: string }) {
  const [isCopied, setIsCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setIsCopied(false), COPIED_MS)
    return () => clearTimeout(timer)
  }, [isCopied])
  // Browsers have a clipboard only for pages from https or from this machine. Elsewhere there is no button.
  if (navigator.clipboard === undefined) return null
  const copy = () => navigator.clipboard.writeText(text).then(() => setIsCopied(true))
  return (
    <button type="button" class="copy" onClick={copy} aria-label={`Copy ${label}`}>
      <svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">
        <path d={isCopied ? COPIED_PATH : COPY_PATH} fill="none" stroke="currentColor" stroke-width="1.5" />
      </svg>
    </button>
  )
}

/** Shows an agent by name if the name is known. `system` and agents of other ledgers are shown as ids. */
export function Agent({ id, names }: { id: string; names: ReadonlyMap<string, string> }) {
  const name = names.get(id)
  if (name === undefined)
    return id.startsWith('agt_') ? <Id id={id} to={linkTo('agents', id)} short /> : <span>{id}</span>
  return (
    <a href={linkTo('agents', id)} title={id}>
      {name}
    </a>
  )
}

/** Clock time in the browser's time zone. The tooltip has the time in UTC and the age. */
export function Time({ at }: { at: string | null }) {
  const nowMs = useNow()
  if (at === null) return <>never</>
  const ms = Date.parse(at)
  if (Number.isNaN(ms)) return <>{at}</>
  return (
    <time dateTime={at} title={`${at} (UTC), ${ago(ms, nowMs)}`}>
      {clockTime(ms, nowMs)}
    </time>
  )
}

/** All times of a page share one timer, because a live list has hundreds of times. */
const watchers = new Set<(nowMs: number) => void>()
setInterval(() => {
  for (const watch of watchers) watch(Date.now())
}, CLOCK_EVERY_MS)

export function useNow(): number {
  const [nowMs, setNowMs] = useState(Date.now)
  useEffect(() => {
    watchers.add(setNowMs)
    return () => void watchers.delete(setNowMs)
  }, [])
  return nowMs
}

export type Tone = 'good' | 'bad' | 'wait' | 'plain'

const TONES: Readonly<Record<string, Tone>> = {
  ACCEPTED: 'good',
  VERIFIED: 'wait',
  SUBMITTED: 'wait',
  CREATED: 'wait',
  ACTIVE: 'wait',
  DISCREPANT: 'bad',
  REJECTED: 'bad',
  active: 'good',
  ok: 'good',
  allow: 'good',
  SETTLE: 'good',
  RELEASE: 'good',
  HOLD: 'bad',
  error: 'bad',
  denied: 'bad',
  deny: 'bad',
  'no outcome': 'bad',
  disabled: 'bad',
  revoked: 'bad',
  failing: 'bad',
  unknown: 'wait',
  'outcome erased': 'wait',
  escalate: 'wait',
  paused: 'wait',
  suspended: 'wait',
  pending: 'wait',
  invited: 'wait',
}

/** A state as text, with a colour. */
export function State({ state, tone = toneOf(state) }: { state: string; tone?: Tone }) {
  return <span class={`state ${tone}`}>{state}</span>
}

/**
 * Returns the tone of a state. Writers may use any word, such as `constructor`, so inherited members of the table are
 * ignored.
 */
function toneOf(state: string): Tone {
  return Object.hasOwn(TONES, state) ? TONES[state]! : 'plain'
}

/** Shows a JSON value that can be folded and copied. A string is shown unchanged. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return (
    <Scrolled label={label} kind="text">
      {typeof value === 'string' ? <pre>{value}</pre> : <JsonTree value={value} label={label} />}
    </Scrolled>
  )
}

/** A page with its heading, which gets the focus when the page opens. */
export function Page({ title, children }: { title: ComponentChildren; children: ComponentChildren }) {
  return (
    <>
      <h1 tabIndex={-1}>{title}</h1>
      {children}
    </>
  )
}

export function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      {children}
    </section>
  )
}

/** A list of names and values. Facts whose value is null are left out. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl>
      {facts
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** An area that scrolls separately from the page. The area can get the focus, so that a keyboard can scroll it. */
function Scrolled({
  label,
  kind = '',
  children,
}: {
  label: string
  kind?: string
  children: ComponentChildren
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: axe asks for it (scrollable-region-focusable)
    <section class={`scroll ${kind}`} tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}

export type Column<T> = { readonly name: string; readonly cell: (row: T) => ComponentChildren }

/**
 * A table. `caption`: text for screen readers. A wide table scrolls separately from the page. On a phone each row is a
 * card. The first cell is the heading of the card. The other cells follow, each with the name of its column.
 */
export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
  empty = 'None.',
}: {
  caption: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  keyOf: (row: T) => string | number
  empty?: ComponentChildren
}) {
  if (rows.length === 0) return <p class="quiet">{empty}</p>
  return (
    <Scrolled label={caption}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ name, cell }) => (
                <td key={name} data-name={name}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  )
}

export function Failure({ error }: { error: Error }) {
  const scope = error instanceof ApiError && error.code === 'forbidden' ? error.problem.scope : undefined
  if (scope !== undefined) return <Lacking scope={scope} />
  return (
    <p class="note bad" role="alert">
      {error.message}
    </p>
  )
}

/** Shows which scope the key lacks, and how to make a key that has it. */
export function Lacking({ scope }: { scope: string }) {
  return (
    <p class="quiet">
      This key lacks the scope <code>{scope}</code>. Make a key that has it:{' '}
      <code>npx tallystick keys create NAME --scopes {scope}</code>
    </p>
  )
}

/** Shows the data. Before there are data, shows that the data are loading, or the error. */
export function Shown<T>({
  of: { data, error },
  children,
}: {
  of: { readonly data: T | null; readonly error: Error | null }
  children: (data: T) => ComponentChildren
}) {
  if (error !== null) return <Failure error={error} />
  if (data === null) return <p class="quiet">Loading…</p>
  return <>{children(data)}</>
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`
}
