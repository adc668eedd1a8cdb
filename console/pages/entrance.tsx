import { useState } from 'preact/hooks'
import type { AuthenticationError } from '../../sdk/errors.ts'
import { Json, Page } from '../parts/basics.tsx'
import { linkTo } from '../router.ts'
import { isKey } from '../session.ts'

const READ_ONLY = 'npx tallystick keys create console --scopes records:read,audit:read'

/** Returns the text for a refused key. The text has no headers or codes, because the reader sees only this page. */
function refusalOf({ problem: { detail, title }, requestId }: AuthenticationError): string {
  const why = detail || title
  return `This server refuses the key: ${why}. Type another one, or ask the person who gave it to you. (Request ${requestId})`
}

/** Asks the reader for the API key. `refused`: the error for the last key. */
export function EntrancePage({
  enter,
  refused,
  leave,
}: {
  enter: (key: string) => void
  refused?: AuthenticationError
  leave?: () => void
}) {
  const [key, setKey] = useState('')
  const [fault, setFault] = useState<string | null>(null)
  const submit = (event: Event) => {
    event.preventDefault()
    if (isKey(key.trim())) enter(key.trim())
    else setFault('An API key of a ledger begins with tly_.')
  }
  if (refused !== undefined && leave !== undefined) {
    return (
      <main class="entrance">
        <Page title="Tallystick">
          <p class="note bad" role="alert">
            {refusalOf(refused)}
          </p>
          <button type="button" class="do main" onClick={leave}>
            Use another key
          </button>
        </Page>
      </main>
    )
  }
  return (
    <main class="entrance">
      <Page title="Tallystick">
        <p>See what your agents did, and verify it in this browser.</p>
        <section class="card">
          <form onSubmit={submit}>
            <label class="wide">
              API key
              <input
                class="mono"
                type="password"
                autocomplete="off"
                placeholder="tly_…"
                value={key}
                onInput={({ currentTarget }) => setKey(currentTarget.value)}
              />
            </label>
            <button type="submit" class="do main">
              Open the ledger
            </button>
          </form>
          {fault !== null && (
            <p class="note bad" role="alert">
              {fault}
            </p>
          )}
          <p class="quiet">
            The key stays in this tab, and is only sent to this server. A key that can only read is enough:
          </p>
          <Json value={READ_ONLY} label="Command that makes a key" />
        </section>
        <p>
          <a href={linkTo('verify')}>Verify a file</a> needs no key.
        </p>
      </Page>
    </main>
  )
}
