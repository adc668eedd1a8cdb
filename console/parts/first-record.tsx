import { Json } from './basics.tsx'

const NOTARIZE = `npx tallystick notarize --payload '{"tool":"search","query":"price of copper"}'`

/** Shows how to make the first record in an empty ledger. */
export function FirstRecord() {
  return (
    <>
      <p>There are no records yet. Make one, in the folder in which the server was started:</p>
      <Json value={NOTARIZE} label="Command that records something" />
      <p>
        It appears here within a second. Then connect an agent: <code>docs/start/guide.md</code> has a block
        to paste for each framework, and <a href="../docs">this server's API</a> takes a record from any
        program.
      </p>
    </>
  )
}
