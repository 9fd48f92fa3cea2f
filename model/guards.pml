/* What the protocol looks at. A -D switch removes one guard: see model/runs.mjs for the list. */

#if NE == 2
#define NUMBER (sends[2] != 0 -> 2 : (sends[1] != 0 -> 1 : 0))
#define ALL(P) (P(1) && P(2))
#define COUNTX(P) (P(0) + P(1))
#define ANYX(P) (P(0) || P(1))
#define ANY_NUMBER(P, a) (P(1, a) || P(2, a))
#define ANY_NUMBER3(P, a, s) (P(1, a, s) || P(2, a, s))
#elif NE == 3
#define NUMBER (sends[3] != 0 -> 3 : (sends[2] != 0 -> 2 : (sends[1] != 0 -> 1 : 0)))
#define ALL(P) (P(1) && P(2) && P(3))
#define COUNTX(P) (P(0) + P(1) + P(2))
#define ANYX(P) (P(0) || P(1) || P(2))
#define ANY_NUMBER(P, a) (P(1, a) || P(2, a) || P(3, a))
#define ANY_NUMBER3(P, a, s) (P(1, a, s) || P(2, a, s) || P(3, a, s))
#else
#define NUMBER (sends[4] != 0 -> 4 : (sends[3] != 0 -> 3 : (sends[2] != 0 -> 2 : (sends[1] != 0 -> 1 : 0))))
#define ALL(P) (P(1) && P(2) && P(3) && P(4))
#define COUNTX(P) (P(0) + P(1) + P(2) + P(3))
#define ANYX(P) (P(0) || P(1) || P(2) || P(3))
#define ANY_NUMBER(P, a) (P(1, a) || P(2, a) || P(3, a) || P(4, a))
#define ANY_NUMBER3(P, a, s) (P(1, a, s) || P(2, a, s) || P(3, a, s) || P(4, a, s))
#endif

/* Whether the ledger holds what the files say. */
#ifdef BY_NUMBER_ONLY
#define VOID_COUNTS true
#define HELD(n) (file[n] == 0 || n <= NUMBER)
#define HELD_SEEN(n) (((seen[e] >> n) & 1) == 0 || n <= NUMBER)
#else
#define VOID_COUNTS false
#define HELD(n) (file[n] == 0 || file[n] == VOID || file[n] == sends[n])
#define HELD_SEEN(n) (((seen[e] >> n) & 1) == 0 || file[n] == VOID || file[n] == sends[n])
#endif
#define TRULY_HELD(n) (file[n] == 0 || file[n] == VOID || file[n] == sends[n])
#define GONE_BACK (!(ALL(TRULY_HELD)))
#if defined(NO_LISTING) || defined(JUDGE_WITHOUT_LISTING)
#define WHOLE true
#else
#define WHOLE (ALL(HELD))
#endif

#define CERT(e) (FILED(e) -> 1 : 0)
#define CERTIFICATES (COUNTX(CERT))
#define CERT0(e) (FILED(e) && OF(xa[e]) == 0 -> 1 : 0)
#define CERTIFICATES0 (COUNTX(CERT0))

/* FILING_TRANSITIONS of src/domain/filing/states.ts, for the states that the model has */
#define MAY_FOLLOW(s, t) ( \
  (s == F_CHECKING && (t == F_SUBMITTING || t == F_NEEDS_CORRECTION || t == F_ABANDONED)) || \
  (s == F_SUBMITTING && (t == F_PROCESSING || t == F_COLLECTING || t == F_UNKNOWN || t == F_NEEDS_CORRECTION || t == F_REJECTED || t == F_ABANDONED)) || \
  (s == F_PROCESSING && (t == F_COLLECTING || t == F_SUBMITTING || t == F_UNKNOWN || t == F_REJECTED || t == F_NEEDS_CORRECTION || t == F_ABANDONED)) || \
  (s == F_UNKNOWN && (t == F_SUBMITTING || t == F_PROCESSING || t == F_COLLECTING || t == F_NEEDS_CORRECTION || t == F_REJECTED || t == F_ABANDONED)) || \
  (s == F_COLLECTING && (t == F_CERTIFIED || t == F_REJECTED || t == F_ABANDONED)))

#define must(holds, what) if :: holds :: else -> printf(what); assert(false) fi

inline move(f, t) {
  if
  :: fst[f] == t
  :: else -> must(MAY_FOLLOW(fst[f], t), "@ broken | a move that the transition table does not have\n"); fst[f] = t
  fi
}

/* In simulations: the state after each step, for traces. */
#ifdef TRACES
#if NE == 2
#define EACH_EXECUTION(v) v[0], v[1], 0, 0
#define EACH_NUMBER(v) v[1], v[2], 0, 0
#elif NE == 3
#define EACH_EXECUTION(v) v[0], v[1], v[2], 0
#define EACH_NUMBER(v) v[1], v[2], v[3], 0
#else
#define EACH_EXECUTION(v) v[0], v[1], v[2], v[3]
#define EACH_NUMBER(v) v[1], v[2], v[3], v[4]
#endif
#define SHOW printf("@= %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d", fst[0], fst[1], row[0], row[1], att[0], att[1], att[2], att[3], snd[0], snd[1], snd[2], snd[3], armed[0], armed[1], armed[2], armed[3]); \
  printf(" %d %d %d %d %d %d %d %d", EACH_NUMBER(sends), EACH_NUMBER(file)); \
  printf(" %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d", EACH_EXECUTION(ex), EACH_EXECUTION(xa), EACH_EXECUTION(xn), EACH_EXECUTION(net)); \
  printf(" %d %d %d %d %d\n", rp[0], rp[1], ra[0], ra[1], wrong)
#elif defined(STEPS)
/* In searches for the list of steps: what the ledger was before the step, and what it is after it. */
#define BEFORE c_code { remember_ledger(); }
#define SHOW c_code { note_step(); }
#else
#define SHOW
#endif

/* ---- Guards; a -D switch removes one (a mutant) ---- */

/*
 * Time. Nobody sees a clock tick but who concludes from it, so time passes when somebody needs it to: the one who judges
 * attempt a waits until its senders are past the HTTP time-out (tooLate), the newest mark's too, and a sender may find itself too late at any
 * time. The settle window is over when nothing of the attempt travels any more and its senders are too late.
 */
#define FOLLOWED(a) (att[a] == A_ACCEPTED || named[a])
#define OF_ATTEMPT(e, a) (ex[e] != X_FREE && (xa[e] == (a) || att[a] == A_MARKED && snd[a] == 0 && OF(xa[e]) == OF(a)))
#define STILL_TRAVELLING(e, a) (OF_ATTEMPT(e, a) && net[e] == N_TRAVELLING)
#define MAY_WRITE(e, a) (OF_ATTEMPT(e, a) && xn[e] != 0 && ex[e] < X_SENT)
#define IS_SEND(n, s) (sends[n] == (s))
#ifdef WAIT_FOR_ONE
#define WAITED_FOR(a, s) (snd[a] == (s))
#else
#define WAITED_FOR(a, s) (ANY_NUMBER(IS_SEND, s))
#endif
inline tooLate(a) {
  i = 0;
  do
  :: i < NE -> if :: MAY_WRITE(i, a) && (snd[a] == 0 || WAITED_FOR(a, i + 1)) -> late[i] = 1 :: else fi; i++
  :: else -> break
  od; i = 0
}

#define SEEN_OF(e, a) (OF_ATTEMPT(e, a) && net[e] == N_CERTIFIED)
#define FILED_OF(e, a) (OF_ATTEMPT(e, a) && FILED(e))
#define TAKEN_OF(e, a) (OF_ATTEMPT(e, a) && (FILED(e) || net[e] == N_TAKEN_BAD || net[e] == N_ERRORED))
#define ERRORED_OF(e, a) (ex[e] != X_FREE && xa[e] == (a) && net[e] == N_ERRORED)
#if NE == 2
#define ANY(P, a) (P(0, a) || P(1, a))
#elif NE == 3
#define ANY(P, a) (P(0, a) || P(1, a) || P(2, a))
#else
#define ANY(P, a) (P(0, a) || P(1, a) || P(2, a) || P(3, a))
#endif

/* A person may still say of an abandoned filing that it was not filed. */
#define ABANDONED_SENT(f) (fst[f] == F_ABANDONED && row[f] == R_ABANDONED)

#define MAY_STAND(f) (!LIVE(1 - (f)) || PERMITTED > 0 && (f) == 1)
/* Nobody else holds the rows' fingerprint, permitted duplicates apart; an import can make two holders. */
#ifdef NO_COLLISION_CHECK
#define HOLDS(f) true
#else
#define HOLDS(f) (!LIVE(1 - (f)) || PERMITTED_BESIDE)
#endif
#ifdef NO_ROW_CHECK
#define ROWS_PLANNED(a) true
#else
#define ROWS_PLANNED(a) (row[OF(a)] == R_PLANNED && !ENDED(OF(a)) && HOLDS(OF(a)))
#endif
#ifdef NO_OTHER_ATTEMPT_CHECK
#define NO_OTHER(a) true
#else
#define NO_OTHER(a) (att[OTHER(a)] == A_NONE || NOT_FILED(OTHER(a)))
#endif
#ifdef NO_FENCE
#define ATTEMPT_OPEN(a) true
#else
#define ATTEMPT_OPEN(a) (att[a] == A_OPEN)
#endif
/* Where anything of the mapping was released as absent, no certificate that agrees is shown when it goes out again. */
#define UNCLAIMED(e) (net[e] == N_CERTIFIED && row[OF(xa[e])] != R_CERTIFIED)
#define ANY_ABSENT (att[0] == A_ABSENT || att[1] == A_ABSENT || att[2] == A_ABSENT || att[3] == A_ABSENT)
#ifdef NO_LOOK_AT_MARK
#define CERTIFICATE_OF_ABSENT false
#else
/* Without a conditional expression: the formula of liveness has none. */
#define CERTIFICATE_OF_ABSENT (ANY_ABSENT && ANYX(UNCLAIMED))
#endif
#define MARK_ALLOWED(a) (ATTEMPT_OPEN(a) && ROWS_PLANNED(a) && NO_OTHER(a) && !(CERTIFICATE_OF_ABSENT) && NUMBER < NE)
#ifdef FILES_OVERWRITTEN
#define OVERWRITES || true
#else
#define OVERWRITES
#endif
#ifdef NO_LISTING
#define LISTING_HELD true
#else
#define LISTING_HELD (ALL(HELD_SEEN))
#endif
#ifdef NO_OWN_MARK
#define OWN_MARK true
#else
#define OWN_MARK (att[xa[e]] == A_MARKED && snd[xa[e]] == e + 1 && armed[xa[e]])
#endif
#ifdef NO_CLOCK_CHECK
#define CLOCK_OK true
#else
#define CLOCK_OK (late[e] == 0)
#endif
#ifdef CLOSE_ANY_SENDER
#define OWN_SENDER true
#else
#define OWN_SENDER (snd[xa[e]] == e + 1 && ONLY_SEND(xa[e], e + 1))
#endif

/* A refusal that its execution could not store: the run judges the attempt by it. */
#ifdef REFUSAL_BY_OWN_MARK
#define RUN_MAY_REFUSE(e) (snd[xa[e]] == (e) + 1 && ONLY_SEND(xa[e], (e) + 1))
#else
#define RUN_MAY_REFUSE(e) true
#endif

/* The sends of attempt a that the ledger holds. */
#define SEND_OF(n, a) (sends[n] != 0 && sends[n] != VOID && xa[sends[n] - 1] == (a))
#define OTHERS_SEND(n, a, s) (SEND_OF(n, a) && sends[n] != (s))
#define VOIDABLE(n, a) (SEND_OF(n, a) && file[n] == 0)
#ifdef NO_VOID
#define TO_VOID(f, a) false
#else
#define TO_VOID(f, a) (!ENDED(f) && att[a] == A_MARKED && armed[a] && ANY_NUMBER(VOIDABLE, a))
#endif
#define MAYBE_WRITTEN(n, a) (SEND_OF(n, a) && file[n] != VOID)
#ifdef CLOSE_BESIDE_SEND
#define ONLY_SEND(a, s) true
#else
#define ONLY_SEND(a, s) (!(ANY_NUMBER3(OTHERS_SEND, a, s)))
#endif
#ifdef GIVE_UP_SENT
#define NO_SENDS(a) true
#else
#define NO_SENDS(a) (!(ANY_NUMBER(SEND_OF, a)))
#endif
#ifdef NO_VOID
#define PROVEN_UNSENT(a) (armed[a] && snd[a] != 0 && file[xn[snd[a] - 1]] == 0)
#else
#define PROVEN_UNSENT(a) (armed[a] && ANY_NUMBER(SEND_OF, a) && !(ANY_NUMBER(MAYBE_WRITTEN, a)))
#endif

#ifdef NO_LATE_WAIT
#define WAIT_LATE(a) skip
#else
#define WAIT_LATE(a) tooLate(a)
#endif
#ifdef NO_SETTLE_WINDOW
#define PERSON_WAITED(a) skip
#else
#define PERSON_WAITED(a) tooLate(a)
#endif
#ifdef NO_SETTLE_WINDOW
#define WINDOW_OVER(a) true
#else
#define WINDOW_OVER(a) (!(ANY(STILL_TRAVELLING, a)) && !(DOUBTED(a) && CERTIFICATES_TO_READ))
#endif
#ifdef NO_LAST_LOOK
#define LOOK(a) true
#else
#define LOOK(a) (!(ANY(SEEN_OF, a)) && !(DOUBTED(a) && CERTIFICATE_AGREES))
#endif

/*
 * After ledger and documents went back together. What was sent in the time that is lost shows in the authority's
 * certificates alone, once they have been read: nothing is sent, and nothing taken for not filed, before that. A certificate
 * that no row has and that agrees with a filing's rows may be theirs, or another lost filing's: nobody concludes from it.
 */
#ifdef RESTORE_BOTH
#define UNREAD(e) (net[e] == N_TRAVELLING || net[e] == N_TAKEN || net[e] == N_TAKEN_BAD -> 1 : 0)
#define NOT_OURS(e) (net[e] == N_CERTIFIED && row[OF(xa[e])] != R_CERTIFIED -> 1 : 0)
#define DOUBTED(a) (hold && snd[a] == 0)
#ifdef NO_CERTIFICATE_WAIT
#define CERTIFICATES_TO_READ false
#else
#define CERTIFICATES_TO_READ (COUNTX(UNREAD) > 0)
#endif
#ifdef NO_LOST_TIME_LOOK
#define CERTIFICATE_AGREES false
#else
#define CERTIFICATE_AGREES (COUNTX(NOT_OURS) > 0)
#endif
#ifdef NO_LOST_TIME_CHECK
#define CERTIFIED_IN_LOST_TIME false
#else
#define CERTIFIED_IN_LOST_TIME (hold && COUNTX(NOT_OURS) > 0)
#endif
#define WAITS_FOR_CERTIFICATES(f) (hold && CERTIFICATES_TO_READ && row[f] == R_PLANNED && NONE_UNDER_WAY(f))
#else
#define DOUBTED(a) false
#define CERTIFICATES_TO_READ false
#define CERTIFICATE_AGREES false
#define WAITS_FOR_CERTIFICATES(f) false
#endif
