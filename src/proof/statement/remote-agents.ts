import { concat, utf8Encode } from '../bytes.ts'
import type { Sha256 } from '../crypto.ts'
import { ID_BYTES, isId, type Uuid, uuidOfBytes } from '../ids.ts'

/** An agent of another ledger (docs/formats/federation.md). Its text is `led_…/agt_…`. */
export type RemoteAgent = { readonly ledger: string; readonly agent: string }

/** Parses the text of a remote agent. Returns null for any other text, also for the id of a local agent. */
export function parseRemoteAgent(text: string): RemoteAgent | null {
  const slash = text.indexOf('/')
  const ledger = text.slice(0, slash)
  const agent = text.slice(slash + 1)
  return slash > 0 && isId('led', ledger) && isId('agt', agent) ? { ledger, agent } : null
}

const DOMAIN = utf8Encode('tallystick-remote-agent-v1\0')
const [VERSION_BYTE, VARIANT_BYTE] = [6, 8]

/**
 * Returns a uuid for a remote agent. It is for columns that store uuids. The uuid has version 8 (RFC 9562 §5.8), while
 * ids of local agents have version 7. `text`: a text that parseRemoteAgent accepts.
 */
export function remoteAgentId(sha256: Sha256, text: string): Uuid {
  const id = sha256(concat([DOMAIN, utf8Encode(text)])).slice(0, ID_BYTES)
  id[VERSION_BYTE] = (id[VERSION_BYTE]! & 0x0f) | 0x80
  id[VARIANT_BYTE] = (id[VARIANT_BYTE]! & 0x3f) | 0x80
  return uuidOfBytes(id)
}
