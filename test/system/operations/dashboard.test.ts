import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runbookSection } from './alerts-file.ts'
import { readDashboard } from './dashboard-file.ts'
import { findStrangers } from './promql.ts'

const DASHBOARD = readDashboard()
const PANELS = DASHBOARD.panels.filter(({ type }) => type !== 'row')

test('every panel uses metrics and labels that processes export', () => {
  for (const { title, targets = [] } of PANELS) {
    assert.ok(targets.length > 0, title)
    for (const { expr, legendFormat } of targets) {
      assert.deepEqual(findStrangers(expr), [], title)
      for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
        assert.deepEqual(findStrangers(`${expr} by (${label})`), [], title)
    }
  }
})

test('every panel has a description, and its links lead to runbook sections by title', () => {
  for (const { title, description = '', links = [] } of PANELS) {
    assert.match(description, /^.{15,}\.$/, title)
    for (const { url, title: linkTitle } of links) {
      const [, runbook] = /^\$\{runbooks\}\/(.+)$/.exec(url) ?? []
      const section = runbookSection(runbook ?? '')
      assert.equal(linkTitle, `Runbook: ${section?.title}`, url)
    }
  }
})

test('panels have unique ids, do not overlap, and are no wider than the page', () => {
  const ids = DASHBOARD.panels.map(({ id }) => id)
  assert.equal(new Set(ids).size, ids.length)
  const taken = new Map<string, string>()
  for (const { title, gridPos } of DASHBOARD.panels) {
    assert.ok(gridPos.x + gridPos.w <= 24, title)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.equal(taken.get(`${x},${y}`), undefined, `${title} lies on another panel`)
        taken.set(`${x},${y}`, title)
      }
    }
  }
})

test('panels use exactly the variables that can be chosen above them', () => {
  const chosen = DASHBOARD.templating.list.map(({ name }) => name)
  const text = JSON.stringify(DASHBOARD.panels)
  for (const name of chosen) assert.match(text, new RegExp(`\\$\\{?${name}\\b`), name)
  const asked = new Set([...text.matchAll(/\$\{?(\w+)/g)].map(([, name]) => name!))
  assert.deepEqual([...asked].filter((name) => !name.startsWith('__')).sort(), chosen.toSorted())
  for (const { definition } of DASHBOARD.templating.list)
    if (definition)
      assert.deepEqual(findStrangers(definition.replace(/^label_values\((.*), \w+\)$/, '$1')), [])
})
