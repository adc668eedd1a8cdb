import { useState } from 'preact/hooks'
import { JSON_MEMBERS_MAX, JSON_OPEN_MEMBERS_MAX } from '../limits.ts'
import { Copy, count } from './basics.tsx'

/** Shows a JSON value whose objects and lists can be folded. Strings are quoted, to distinguish them from numbers. */
export function JsonTree({ value, label }: { value: unknown; label: string }) {
  return (
    <div class="json">
      <Copy text={JSON.stringify(value, null, 2)} label={label} />
      <Value value={value} isOpen={isSmall(value)} isTop />
    </div>
  )
}

function Value({
  name,
  value,
  isOpen,
  isTop = false,
}: {
  name?: string | undefined
  value: unknown
  isOpen: boolean
  isTop?: boolean
}) {
  if (typeof value !== 'object' || value === null)
    return (
      <>
        <Name name={name} />
        <span class={value === null ? 'null' : typeof value}>{textOf(value)}</span>
      </>
    )
  return <Members name={name} value={value} isOpen={isOpen} isTop={isTop} />
}

/** Members of an object or list. They are drawn when they are first unfolded. */
function Members({
  name,
  value,
  isOpen,
  isTop,
}: {
  name: string | undefined
  value: object
  isOpen: boolean
  isTop: boolean
}) {
  const [isDrawn, setIsDrawn] = useState(isOpen || isTop)
  const isList = Array.isArray(value)
  const members = Object.entries(value)
  const size = isList ? `list of ${members.length}` : count(members.length, 'member')
  if (members.length === 0)
    return (
      <>
        <Name name={name} />
        <span class="quiet">{isList ? 'empty list' : 'empty object'}</span>
      </>
    )
  return (
    <details open={isOpen || isTop} onToggle={({ currentTarget }) => currentTarget.open && setIsDrawn(true)}>
      <summary>
        <Name name={name} />
        <span class="quiet">{size}</span>
      </summary>
      {isDrawn && (
        <ul>
          {members.slice(0, JSON_MEMBERS_MAX).map(([key, member]) => (
            <li key={key}>
              <Value name={isList ? undefined : key} value={member} isOpen={isOpen} />
            </li>
          ))}
          {members.length > JSON_MEMBERS_MAX && (
            <li class="quiet">and {count(members.length - JSON_MEMBERS_MAX, 'member')} more</li>
          )}
        </ul>
      )}
    </details>
  )
}

function Name({ name }: { name: string | undefined }) {
  if (name === undefined) return null
  return (
    <>
      <span class="name">{nameOf(name)}</span>:{' '}
    </>
  )
}

/** Returns the text of a value, with a line break after each escaped line feed. */
function textOf(value: unknown): string {
  return JSON.stringify(value).replaceAll('\\n', '\\n\n')
}

function isSmall(value: unknown): boolean {
  let left = JSON_OPEN_MEMBERS_MAX
  const walk = (one: unknown): boolean =>
    typeof one !== 'object' ||
    one === null ||
    Object.values(one).every((member) => left-- > 0 && walk(member))
  return walk(value)
}

/** Returns the name of a member, quoted if it is not a plain identifier. */
export function nameOf(name: string): string {
  return /^[\w.$-]+$/.test(name) ? name : JSON.stringify(name)
}
