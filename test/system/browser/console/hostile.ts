import type { Tallystick } from '../../../../sdk/client.ts'

/**
 * A text that reverses the line, hides text and covers other rows. It contains overrides, isolates, zero-width
 * characters, tags, a variation selector, private use, line breaks and forty accents. Its right-to-left letters
 * reorder the text beside them.
 */
export const TURNING = `\u202ednal\u2066x\u200b\u2060\ufeff\u{e0061}\u{e0062}a\ufe01\ue000\u2028z${'\u0301'.repeat(40)} \u05d0\u05dc\u05d4`

/** Texts that would run as scripts, or change the page around them, if they were inserted as markup. */
export const HOSTILE = [
  '<img src=x onerror="globalThis.pwned=1">',
  '"><script>globalThis.pwned=2</script><img src=x>',
  "'-globalThis.pwned=3-'<img>",
  '</pre></td><iframe srcdoc="<script>parent.pwned=4</script>"></iframe><img>',
  'javascript:globalThis.pwned=5//<img',
  '<style>*{display:none}</style><img>',
  '\u202e<img\u2066> dangerouslySetInnerHTML',
  '{"__html":"<img src=x onerror=pwned=6>"}',
  `${TURNING}<img>`,
] as const

/** Writes a record for every position in which a text can appear. Returns their ids. */
export async function recordHostile(client: Tallystick, agent: string): Promise<string[]> {
  const ids: string[] = []
  for (const text of HOSTILE) {
    // Servers refuse invisible characters in names, and accept only one Unicode normal form.
    const name = text
      .slice(0, 100)
      .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Default_Ignorable_Code_Point}]/gu, '')
      .normalize()
    const nested = {
      [text]: text,
      dangerouslySetInnerHTML: { __html: text },
      __html: text,
      list: [text, { href: text }],
    }
    const record = await client.records.notarize({
      payload: nested,
      metadata: { [name]: text, nested: { __html: text } },
      references: [text],
    })
    const action = await client.records.notarize({
      type: 'agent-action/1',
      payload: { kind: 'tool', name: text, server: text, arguments: nested },
      references: [text],
    })
    const outcome = await client.records.notarize({
      type: 'agent-outcome/1',
      parent: action.id,
      payload: { status: 'error', errorType: text, error: text, name: text },
    })
    await client.records.notarize({
      type: 'approval/1',
      parent: action.id,
      payload: { decision: 'deny', by: { kind: 'person', id: text }, why: text, name: text },
    })
    const made = await client.agents.register({ name })
    await client.keys.create({ name, agent: made.id, scopes: ['records:read'] })
    const { id } = await client.records.create({ payload: nested, performer: made.id })
    await client.records.cancel(id, { reason: text })
    ids.push(record.id, action.id, outcome.id, id)
  }
  await client.peers.invite({ name: HOSTILE[0].slice(0, 60) })
  await client.webhooks.create({
    url: 'https://hooks.example/',
    description: HOSTILE[0],
    events: ['verdict.rendered'],
  })
  await client.records.create({ payload: { [HOSTILE[1]]: HOSTILE[1] }, onBehalfOf: agent })
  return ids
}
