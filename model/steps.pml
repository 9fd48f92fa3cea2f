/*
 * The list of steps (`npm run model -- --steps`): each step that changes a filing in the ledger, printed once, as what of the
 * filing was there before and what is there after it. What came before is kept beside the state, so that no more states are
 * visited. spin.mjs puts BEFORE behind the guard of each step.
 */
c_decl {
  struct Ledger { unsigned char fst[2], row[2], att[4], snd[4], armed[4], sends[6], wrong; };
  struct Ledger before;
}
c_track "&before" "sizeof(struct Ledger)" "UnMatched"

c_code {
  void remember_ledger(void)
  { int k;
    for (k = 0; k < 2; k++) { before.fst[k] = now.fst[k]; before.row[k] = now.row[k]; }
    for (k = 0; k < 4; k++) { before.att[k] = now.att[k]; before.snd[k] = now.snd[k]; before.armed[k] = now.armed[k]; }
    for (k = 0; k <= NE; k++) before.sends[k] = now.sends[k];
    before.wrong = now.wrong;
  }

  #define STEP_SLOTS (1 << 20)
  static unsigned long long step_seen[STEP_SLOTS];

  static int step_is_new(unsigned long long key)
  { unsigned long long at = (key * 0x9E3779B97F4A7C15ULL) >> 44;
    for (; step_seen[at]; at = (at + 1) % STEP_SLOTS) if (step_seen[at] == key) return 0;
    step_seen[at] = key;
    return 1;
  }

  /* Whether attempt a got a send in this step. */
  static int step_sends(int a)
  { int n;
    for (n = 1; n <= NE; n++) {
      int s = now.sends[n];
      if (s != before.sends[n] && s > 0 && s <= NE && now.xa[s - 1] == a) return 1;
    }
    return 0;
  }

  void note_step(void)
  { int f, a, k;
    if (now.wrong > 0) return;              /* what follows from a wrong answer is not the protocol's */
    for (f = 0; f < 2; f++) {
      int v[16];
      unsigned long long key = 1;
      int n = 0;
      int changed = 0;
      v[n++] = before.fst[f]; v[n++] = before.row[f];
      for (a = 2 * f; a < 2 * f + 2; a++) { v[n++] = before.att[a]; v[n++] = before.att[a] == 2 && before.armed[a]; }
      v[n++] = now.fst[f]; v[n++] = now.row[f];
      for (a = 2 * f; a < 2 * f + 2; a++) { v[n++] = now.att[a]; v[n++] = now.att[a] == 2 && now.armed[a]; }
      for (a = 2 * f; a < 2 * f + 2; a++) { v[n++] = now.snd[a] != before.snd[a] && now.snd[a] != 0; v[n++] = step_sends(a); }
      for (k = 0; k < 6; k++) if (v[k] != v[k + 6]) changed = 1;
      for (k = 12; k < n; k++) if (v[k]) changed = 1;
      if (!changed) continue;
      for (k = 0; k < n; k++) key = key * 11 + v[k];
      if (!step_is_new(key)) continue;
      printf("@step");
      for (k = 0; k < n; k++) printf(" %d", v[k]);
      printf("\n");
    }
  }
}
