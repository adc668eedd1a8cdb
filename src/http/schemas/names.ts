import { z } from 'zod'
import { NAME_CHARS_MAX } from '../limits.ts'

/** No control characters: `\P{Cc}`, spelt for those readers of /openapi.json whose patterns know no properties. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about them
export const WITHOUT_CONTROLS = /^[^\u0000-\u001f\u007f-\u009f]*$/u

/** Name of a ledger, an agent or a key: shown to people, so without control characters. */
export const name = z.string().min(1).max(NAME_CHARS_MAX).regex(WITHOUT_CONTROLS)
