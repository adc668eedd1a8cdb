import { type ComponentChild, createElement, options, type VNode } from 'preact'
import { piecesOf, plainLines } from '../sdk/plain.ts'
import { codeOf } from '../src/proof/quoted.ts'

/*
 * Makes the texts of all pages safe, because texts of a ledger come from agents, peers and strangers. Hidden
 * characters become marks. Right-to-left text is isolated, so that it cannot change the order of the text beside it
 * (UAX #9).
 */

/** Matches texts without hidden characters and without right-to-left text. Most texts match. */
const SIMPLE = /^[\n\x20-\x7e\u00a0-\u00ac\u00ae-\u02ff\u2010-\u2027…]*$/
const RTL = String.raw`\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}`
/**
 * Matches a run of right-to-left text. The run begins at the first right-to-left letter. It ends at the last
 * right-to-left letter before a letter of another script, or before the end of a JSON string.
 */
const RTL_RUN = new RegExp(String.raw`([${RTL}](?:[^${RTL}\p{L}"\n]*[${RTL}])*)`, 'u')
/**
 * Attributes that are left unchanged, because they are not shown as text, or because an input must keep what was
 * typed.
 */
const AS_GIVEN = new Set(['value', 'href'])

/** Installs the protection for all elements that are created after the call. */
export function showHiddenText(): void {
  options.vnode = (vnode) => {
    const { type, props } = vnode as VNode<unknown>
    if (typeof props === 'string') {
      if (!SIMPLE.test(props)) isolate(vnode, props)
    } else if (typeof type === 'string') {
      for (const [name, value] of Object.entries(props as Record<string, unknown>))
        if (typeof value === 'string' && name !== 'children' && !AS_GIVEN.has(name) && !SIMPLE.test(value))
          (props as Record<string, unknown>)[name] = plainLines(value)
    }
  }
}

/** Wraps a text in an element if it has hidden characters or right-to-left text. */
function isolate(vnode: VNode, text: string): void {
  const children = piecesOf(text).flatMap<ComponentChild>(({ text, hidden }) =>
    hidden === null ? isolateRuns(text) : [markOf(text, hidden)],
  )
  if (children.length === 1 && children[0] === text) return
  vnode.type = 'bdi'
  vnode.props = { dir: 'ltr', children } as VNode['props']
}

function isolateRuns(text: string) {
  // The text is wrapped in a String object. Preact shows such an object as text, and does not call this function for it
  // again.
  return text.split(RTL_RUN).map((part, i) => (i % 2 === 0 ? part : createElement('bdi', {}, Object(part))))
}

function markOf(mark: string, hidden: string) {
  const codes = [...hidden].map(codeOf)
  const title = `Hidden or bidirectional characters: ${codes.slice(0, 40).join(' ')}${codes.length > 40 ? ' …' : ''}`
  return createElement('span', { class: 'hidden', title }, mark)
}
